"""What an option needs beside it, so that a configuration with it composes."""

from __future__ import annotations

from normexp.config import option, options
from normexp.config.rules import models_reading


def companions(group: str, name: str) -> list[str]:
    """Return overrides to give with `group=name`."""
    if group == "model":
        return _data_for(option(group, name)["_accepts_"])
    if group != "dataset":
        return []
    about = option(group, name)
    model = "cnn" if about["_kind_"] == "image" else models_reading(about["_kind_"])[0]
    return [f"model={model}", f"inputs={about.get('_inputs_', ['standardize'])[0]}"]


def _data_for(kind: str) -> list[str]:
    """Return the first data set of this kind, with inputs that fit; none for what reads the default."""
    if kind in ("any", "image"):
        return []
    name = next(name for name in options("dataset") if option("dataset", name)["_kind_"] == kind)
    return [f"dataset={name}", f"inputs={option('dataset', name)['_inputs_'][0]}"]
