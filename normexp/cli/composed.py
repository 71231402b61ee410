"""What `run` and `sweep` compose: what is typed, over the settings of a file or of a run."""

from __future__ import annotations

import argparse

from normexp.errors import UserError


def overrides(arguments: argparse.Namespace) -> list[str]:
    """Return what is typed over the settings of --config or --like."""
    from normexp.config.overrides import check_once

    check_once(arguments.overrides)
    if not (arguments.config or arguments.like):
        return list(arguments.overrides)
    from normexp.runs.settings import with_settings

    return with_settings(_settings(arguments), arguments.overrides)


def _settings(arguments: argparse.Namespace) -> dict[str, object]:
    from normexp.runs.settings import settings_of_file, settings_of_run

    if arguments.config and arguments.like:
        raise UserError(f"--config {arguments.config} --like {arguments.like}: give one of the two")
    if arguments.config:
        return settings_of_file(arguments.config)
    return settings_of_run(arguments.like, arguments.overrides)
