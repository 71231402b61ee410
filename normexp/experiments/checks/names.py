"""Names that the YAML of an experiment uses, checked against those that there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from normexp.errors import UserError, unknown
from normexp.evidence.best_of import BEST_OF

HELD_OUT = "validation/"


def check_named(
    where: str, spec: object, arms: Mapping[str, object], axes: Mapping[str, Sequence[Any]], metrics: Sequence[str]
) -> None:
    """Raise UserError for an arm, an axis, a value of it or a metric that a typed part of the YAML names in vain.

    Args:
        spec: a figure, a column or a published number of `normexp.experiments.schema`.
        axes: of the grid, without the seed, and their values.
    """

    def named(*keys: str) -> list[Any]:
        values = [value for key in keys if (value := getattr(spec, key, None)) is not None]
        return [each for value in values for each in ([value] if isinstance(value, str) else value)]

    rivals = [arm.removeprefix(BEST_OF) for arm in [getattr(spec, "target", None)] if isinstance(arm, str)]
    check_arms(where, [*named("arm", "arms", "published", "relative_to"), *rivals], arms)
    check_arms(f"{where}: than", named("than"), arms)
    for metric in named("metric", "metrics", "formula"):
        if metric not in metrics:
            raise unknown_metric(where, metric, metrics)
    for axis in named("axis", "where"):
        if axis not in axes:
            raise unknown(f"{where}: axis", axis, axes)
    for axis, value in getattr(spec, "where", {}).items():
        if value not in axes[axis]:
            raise unknown(f"{where}: value of {axis}", str(value), map(str, axes[axis]))


def unknown_metric(where: str, metric: str, metrics: Sequence[str]) -> UserError:
    """Return the error for a metric that is not recorded; no other split is proposed in the place of validation."""
    if metric.startswith(HELD_OUT) and not any(each.startswith(HELD_OUT) for each in metrics):
        return UserError(
            f"{where}: metric {metric!r} does not exist: no validation split is held out in every run; "
            "set dataset.validation=0.1 under common"
        )
    return unknown(f"{where}: metric", metric, metrics)


def check_arms(where: str, named: Sequence[str], arms: Mapping[str, object]) -> None:
    """Raise UserError for a name that is no arm."""
    for name in named:
        if name not in arms:
            raise unknown(f"{where}: arm", name, arms)
