"""What is known of a metric by its name: what is better, its ends, whether it is a share, and which scores a task."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Known:
    """What the end of a metric's name tells.

    Args:
        better: None where it does not tell.
        least: the smallest value that it can have.
        task: of data whose score it is.
    """

    better: Literal["higher", "lower"] | None = None
    least: float = 0.0
    task: str = ""


METRICS = {
    "accuracy": Known("higher", task="classification"),
    "rmse": Known("lower", task="regression"),
    "bits_per_byte": Known("lower", task="language"),
    "loss": Known("lower"),
    "error": Known("lower"),
    "mse": Known("lower"),
    "nll": Known("lower", least=-math.inf),  # of a density
    "bpc": Known("lower"),
    "perplexity": Known("lower", least=1.0),
    "variance": Known(),
    "std": Known(),
    "deviation": Known(),
    "abs": Known(),
    "seconds_per_step": Known(),
}
UNKNOWN = Known(least=-math.inf)
SCORES = {known.task: name for name, known in METRICS.items() if known.task}  # task -> what people read beside its loss
MEASURES = tuple(f"validation/{name}" for name in (*SCORES.values(), "loss"))
"""What a run is chosen by: the first of them that it has."""


def known_of(metric: str) -> Known:
    """Return what a metric's name tells by its end; of a logarithm, say, nothing is known."""
    name = _name(metric)
    return next((known for end, known in METRICS.items() if f"_{name}".endswith(f"_{end}")), UNKNOWN)


def better_direction(metric: str) -> Literal["higher", "lower"] | None:
    """Return whether `higher` or `lower` is better, by the end of a metric's name; None where it does not tell."""
    return known_of(metric).better


def cost_sign(metric: str) -> float:
    """Return by what a metric is multiplied to be less for the better; 1 where its name does not tell."""
    return -1.0 if better_direction(metric) == "higher" else 1.0


def worst(better: str | None) -> float:
    """Return what a run that diverged counts as, where `higher` or `lower` is better; NaN where that is not known."""
    return {"higher": -math.inf, "lower": math.inf, None: math.nan}[better]


def is_share(metric: str) -> bool:
    """Tell whether a metric is a fraction, shown in percent: an accuracy, or the error that is 1 minus it."""
    return known_of(metric) is METRICS["accuracy"] or metric.endswith("/error")


def extremes(metric: str) -> tuple[float, float]:
    """Return the least and the largest value that a metric can have; of a logarithm nothing is known."""
    if is_share(metric):
        return 0.0, 1.0
    return -math.inf if _name(metric).startswith("log") else known_of(metric).least, math.inf


def said_extremes(low: float, high: float) -> str:
    """Return them in words."""
    return f"from {low:g} to {high:g}" if high < math.inf else f"{low:g} or more"


def error_of(metric: str) -> str:
    """Return what 1 - accuracy is called: test/accuracy -> test/error; '' for anything that is no accuracy."""
    split, _, name = metric.rpartition("/")
    return f"{split}/error" if split and name == "accuracy" else ""


def with_errors(metrics: Iterable[str]) -> list[str]:
    """Return the metrics that are recorded, and those that follow from them."""
    recorded = list(metrics)
    return [*recorded, *filter(None, map(error_of, recorded))]


def _name(metric: str) -> str:
    """Return a metric's name without its split, or the layer that a probe looked at."""
    return metric.rpartition("/")[2]
