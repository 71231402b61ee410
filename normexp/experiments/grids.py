"""What an experiment's YAML says of its runs: overrides, grids, how hyperparameters are chosen, when seeds suffice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from normexp.config.schema import Strict, refusal
from normexp.evidence.claims.fields import Text
from normexp.evidence.stats.sequential import MOST_LOOKS, Spending


def _plain(overrides: dict[str, Any]) -> dict[str, Any]:
    """Refuse what names code: an experiment is data, and may come from anybody."""
    for key, value in overrides.items():
        inside = [key, *(map(str, value) if isinstance(value, Mapping) else ())]
        if key == "plugins" or any(name == "_target_" or name.endswith("._target_") for name in inside):
            raise refusal("names code that would be run; an experiment's YAML is data, give it to `normexp run`", key)
    return overrides


def _values(grid: dict[str, Any]) -> dict[str, list[Any]]:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise refusal(f"{values!r} is not a list of values", key)
    return _plain(grid)


Overrides = Annotated[dict[str, Any], AfterValidator(_plain)]
Grid = Annotated[dict[str, Any], AfterValidator(_values)]


class Halving(Strict):
    """Successive halving: train all combinations for few steps, and only the best of them for more."""

    steps: list[Annotated[int, Field(ge=1)]] = Field(min_length=2)
    """Of the runs at each rung, growing; every rung trains afresh."""
    keep: list[Annotated[int, Field(ge=2)]]
    """How many of the combinations go on to each rung after the first; the last rung chooses one."""

    @model_validator(mode="after")
    def _narrows(self) -> Halving:
        if sorted(set(self.steps)) != self.steps:
            raise refusal(f"{self.steps}: each rung has more steps than the one before", "steps")
        if sorted(set(self.keep), reverse=True) != self.keep:
            raise refusal(f"{self.keep}: each rung keeps fewer than the one before", "keep")
        if len(self.keep) != len(self.steps) - 1:
            raise refusal(f"{self.keep}: wants a number for each rung after the first, {len(self.steps) - 1}", "keep")
        return self


class SelectionAtScale(Strict):
    """What a scale lays over the selection."""

    search: Grid | None = None
    """Overrides to choose from: key -> values; every combination is tried."""
    seeds: list[int] | None = Field(None, min_length=1)
    """Of the trials, none of them the grid's; three where the best two lie within noise: two standard errors of a share
    of the validation images, or with two seeds a paired 95 % interval that holds 0. The table names the choices that
    had fewer."""
    metric: str | None = None
    """Of the validation split; the best mean over the seeds at the last evaluation is chosen."""
    common: Overrides | None = None
    """Overrides of the trials only."""
    arm: str | None = None
    """Choose for this arm alone; all others take what is best there."""
    per: list[str] | None = None
    """Axes of the grid at each of whose values it is chosen anew."""
    halving: Halving | None = None
    """Successive halving in place of the full grid."""


class Selection(SelectionAtScale):
    """How hyperparameters are chosen for every arm, on the validation split."""

    search: Grid = Field(min_length=1)
    """Overrides to choose from: key -> values; every combination is tried."""
    seeds: list[int] = Field(min_length=1)
    """Of the trials, none of them the grid's; three where the best two lie within noise: two standard errors of a share
    of the validation images, or with two seeds a paired 95 % interval that holds 0. The table names the choices that
    had fewer."""
    metric: Text
    """Of the validation split; the best mean over the seeds at the last evaluation is chosen."""
    common: Overrides = Field(default_factory=dict)
    """Overrides of the trials only."""
    per: list[str] = Field(default_factory=list)
    """Axes of the grid at each of whose values it is chosen anew."""

    @property
    def highest(self) -> bool:
        return self.metric.endswith("accuracy")


class Sequential(Strict):
    """Seeds are added in batches until every claim is decided; declared and frozen as claims are."""

    looks: list[Annotated[int, Field(ge=2)]] = Field(min_length=2, max_length=MOST_LOOKS)
    """How many seeds of the grid have run at each look, at most five looks; the last is all of them."""
    spending: Spending = "pocock"
    """How the level is spent: about evenly (pocock), or next to nothing early (obrien_fleming)."""

    @model_validator(mode="after")
    def _grows(self) -> Sequential:
        if sorted(set(self.looks)) != self.looks:
            raise refusal(f"{self.looks}: each look has more seeds than the one before", "looks")
        return self
