"""What an experiment's YAML says of its runs: overrides, grids, how hyperparameters are chosen, when seeds suffice."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from normexp.config.intervals import EXAMPLE, read_interval
from normexp.config.own import PLUGINS
from normexp.config.schema import Strict, check_once, refusal
from normexp.config.text import short_repr
from normexp.errors import UserError, did_you_mean
from normexp.evidence.claims.fields import Text
from normexp.evidence.metrics import better_direction
from normexp.evidence.stats.sequential import MOST_LOOKS, Spending
from normexp.experiments.keys import RESULTS

COUNTING = re.compile(r"range\((\d{1,9})(?:, ?(\d{1,9}))?\)")
MOST_PROPOSED = 30


def _plain(overrides: dict[str, Any]) -> dict[str, Any]:
    """Refuse to let data say which code may be run: an experiment may come from anybody, who runs it types that."""
    if PLUGINS in overrides:
        told = "which code may be run is typed where it is run: normexp reproduce FILE 'plugins=[MODULE]'"
        raise refusal(told, PLUGINS)
    if RESULTS in overrides:
        raise refusal("where results go is typed where it is run: normexp reproduce NAME results_dir=FOLDER", RESULTS)
    return overrides


def _once(seeds: list[int]) -> list[int]:
    if len(set(seeds)) < len(seeds):
        raise refusal(f"{seeds}: a seed stands there twice")
    return seeds


def _axes(per: list[str]) -> list[str]:
    check_once(per)
    return per


def _values(grid: dict[str, Any]) -> dict[str, list[Any]]:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise refusal(f"{short_repr(values)} is not a list of values{_as_list(values)}", key)
        check_once(values, key)
    return _plain(grid)


def _as_list(values: Any) -> str:
    """Propose the list for one value, and for the range of a sweep, which YAML has no word for."""
    if isinstance(values, str) and (bounds := COUNTING.fullmatch(values)):
        start, stop = (int(bounds[1]), int(bounds[2])) if bounds[2] else (0, int(bounds[1]))
        meant = [*range(start, min(stop, start + MOST_PROPOSED))]
        return did_you_mean(str(meant)) if meant and meant[-1] == stop - 1 else ""
    return did_you_mean(short_repr([values])) if isinstance(values, bool | int | float) else ""


def _values_or_intervals(search: dict[str, Any]) -> dict[str, Any]:
    for key, text in search.items():
        if isinstance(text, str):
            try:
                read_interval(key, text)
            except UserError as problem:
                raise refusal(problem, key) from None
    _values({key: values for key, values in search.items() if not isinstance(values, str)})
    return _plain(search)


Seeds = Annotated[list[int], Field(min_length=1), AfterValidator(_once)]
FurtherSeeds = Annotated[list[int], AfterValidator(_once)]
AxisNames = Annotated[list[str], AfterValidator(_axes)]
Overrides = Annotated[dict[str, Any], AfterValidator(_plain)]
Grid = Annotated[dict[str, Any], AfterValidator(_values)]
Space = Annotated[dict[str, Any], AfterValidator(_values_or_intervals)]


class Halving(Strict):
    """Successive halving: train all combinations for few steps, and only the best of them for more."""

    steps: list[Annotated[int, Field(ge=1)]] = Field(min_length=2)
    """Of the runs at each rung, growing, up to those of the experiment's own; every rung trains afresh."""
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


class Sampler(Strict):
    """Optuna draws combinations from intervals, one after the other, each in view of the scores of those before it."""

    name: Literal["tpe", "random"] = "tpe"
    """Tree-structured Parzen estimators, or evenly at random."""
    trials: int = Field(20, ge=2)
    """How many combinations are drawn for each choice."""
    seed: int = Field(0, ge=0)
    """Of what is drawn."""


class SelectionAtScale(Strict):
    """What a scale lays over the selection."""

    search: Space | None = None
    """Overrides to choose from: key -> values, every combination of which is tried; with `sampler` key -> interval,
    `interval(0,0.99)`, `tag(log,interval(0.001,1))` or `int(interval(8,256))`."""
    seeds: Seeds | None = None
    """Of the trials, none of them the grid's; three where the best two lie within noise: two standard errors of the
    difference of two shares of the validation images, or with two seeds a paired 95 % interval that holds 0. The table
    names the choices that had fewer."""
    ties: FurtherSeeds | None = None
    """Further seeds, none of them the grid's, for the best two combinations of a choice where these lie within noise;
    of these two the better mean over all seeds is chosen. `[]` at a scale: none there."""
    metric: str | None = None
    """Of the validation split; the best mean over the seeds at the last evaluation is chosen."""
    common: Overrides | None = None
    """Overrides of the trials only."""
    arm: str | None = None
    """Choose for this arm alone; all others take what is best there."""
    per: AxisNames | None = None
    """Axes of the grid at each of whose values it is chosen anew."""
    halving: Halving | None = None
    """Successive halving in place of the full grid."""
    sampler: Sampler | None = None
    """One of Optuna's samplers in place of the full grid, where the space is none."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Fields that are given anew mean what they mean here."""
        for name, field in SelectionAtScale.model_fields.items():
            cls.model_fields[name].description = field.description


class Selection(SelectionAtScale):
    """How hyperparameters are chosen for every arm, on the validation split."""

    search: Space = Field(min_length=1)
    seeds: Seeds
    ties: FurtherSeeds = Field(default_factory=list)
    metric: Text
    common: Overrides = Field(default_factory=dict)
    per: AxisNames = Field(default_factory=list)

    @model_validator(mode="after")
    def _space_is_of_one_kind(self) -> Selection:
        if self.sampler and self.halving:
            raise refusal("give either halving or sampler")
        for key, values in self.search.items():
            if self.sampler and not isinstance(values, str):
                told = f"{short_repr(values)} is a list; `sampler` draws from an interval, as {EXAMPLE}"
                raise refusal(told, "search", key)
            if not self.sampler and isinstance(values, str):
                raise refusal(f"{values!r} is an interval; give `sampler` with it, or a list of values", "search", key)
        return self

    @model_validator(mode="after")
    def _ties_have_other_seeds(self) -> Selection:
        if self.ties and self.sampler:
            raise refusal("give either sampler or ties; a sampler takes more trials, or more seeds for all", "ties")
        if both := [seed for seed in self.ties if seed in self.seeds]:
            raise refusal(f"{both[0]} is one of the seeds of every trial, too", "ties")
        return self

    @property
    def highest(self) -> bool:
        return better_direction(self.metric) == "higher"


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
