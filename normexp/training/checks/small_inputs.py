"""Inputs of a table that are so small that the eps of their standardization shrinks them."""

from __future__ import annotations

from normexp.config import Config
from normexp.config.text import amount
from normexp.data.base import Data
from normexp.data.inputs import Standardized
from normexp.training.components import Components

SHARE = 0.1  # of a deviation, by which eps changes what is divided by it


def small_inputs(config: Config, components: Components, data: Data) -> str:
    """Say in one line that `inputs=standardize` leaves columns of a table far below a deviation of 1; else nothing."""
    transform = components.batches.examples.transform
    if not isinstance(transform, Standardized) or data.train.x.ndim != 2 or data.task == "language":
        return ""
    eps, std = config["inputs"]["eps"], transform.std
    small = (std > 0) & (eps > SHARE * std)
    if not small.any():
        return ""
    least = float(std[small].min())
    which = f"{small.sum()} of {amount(std.size, 'input')}"
    shrunk = f"a deviation of {least:.1e} becomes {least / (least + eps):.1e}"
    return f"inputs.eps={eps:g}: shrinks {which} ({shrunk}); inputs.eps=0 scales all of them to 1"
