"""Options for tests that go through them: what one needs beside it, and which schemes stand for the others."""

import pytest

from normexp.config import option, options
from normexp.config.rules import models_reading

# A scheme of each kind: none, running estimates, a size of its own, maps alone, weights, weights and pools, both parts
# of a stack, in place of the nonlinearity. Networks know the contract alone (lint-imports), so kinds are what counts.
KINDS = ["none", "batch", "decorrelated", "instance", "weight", "normprop", "weight_mean_only", "evonorm_s0"]
# For what a network does with a scheme: one of each kind at once, the others among the slow tests.
KINDS_FIRST = [name if name in KINDS else pytest.param(name, marks=pytest.mark.slow) for name in options("norm")]


def companions(group: str, name: str) -> list[str]:
    """Return overrides to give with `group=name`."""
    if group == "model":
        return _data_for(option(group, name)["_accepts_"])
    if group == "placement":
        return ["model=gpt", "dataset=text"]
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
