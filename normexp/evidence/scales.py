"""The scales at which an experiment can be run, the smallest first."""

from __future__ import annotations

from typing import Literal, get_args

Scale = Literal["smoke", "cpu", "desk", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
SMOKE: Scale = "smoke"  # a preview, which decides nothing
PAPER: Scale = "paper"  # a published set-up: here alone a printed number can be judged, and laws are measured
