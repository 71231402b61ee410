"""The command that makes an experiment again, as tables and pages name it."""

from __future__ import annotations

from shlex import quote

from normexp.config.own import PLUGINS
from normexp.config.text import as_argument
from normexp.experiments.experiment import Experiment


def command(experiment: Experiment) -> str:
    """Return the command that makes an experiment again."""
    plugins = experiment.common.get(PLUGINS, [])
    typed = f" '{PLUGINS}=[{','.join(plugins)}]'" if plugins else ""
    named = quote(as_argument(experiment.file or experiment.name))
    return f"normexp reproduce {named} scale={experiment.scale}{typed}"
