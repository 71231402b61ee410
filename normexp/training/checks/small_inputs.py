"""Inputs of a table that are so small that the eps of their standardization shrinks them."""

from __future__ import annotations

import numpy as np

from normexp.config import Config
from normexp.config.text import amount
from normexp.data.base import Data
from normexp.data.inputs import moments

SHARE = 0.1  # of a deviation, by which eps changes what is divided by it


def small_inputs(config: Config, data: Data) -> str:
    """Say in one line that `inputs=standardize` leaves columns of a table far below a deviation of 1; else nothing."""
    if config.choices["inputs"] != "standardize" or data.train.x.ndim != 2 or data.task == "language":
        return ""
    eps = config["inputs"]["eps"]
    mean, variance = moments(data.train.x, "channel")
    std = np.sqrt(variance)
    small = (std > 1e-12 * np.abs(mean)) & (eps > SHARE * std)
    if not small.any():
        return ""
    least = float(std[small].min())
    which = f"{small.sum()} of {amount(std.size, 'input')}"
    shrunk = f"a deviation of {least:.1e} becomes {least / (least + eps):.1e}"
    return f"inputs.eps={eps:g}: shrinks {which} ({shrunk}); inputs.eps=0 scales all of them to 1"
