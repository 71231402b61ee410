"""The YAML of an experiment as typed objects: a paper's table or figure as arms, a grid, claims and published numbers.

`normexp list experiments --schema` prints this as JSON schema for editors; docs/experiments.md is this on one page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from normexp.config.schema import Strict, refusal
from normexp.errors import UserError
from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import AnyClaim
from normexp.evidence.claims.fields import At, Text
from normexp.evidence.curves import better_direction, is_share
from normexp.evidence.stats import Printed
from normexp.evidence.stats.sequential import MOST_LOOKS, Spending
from normexp.experiments.figures import FigureSpec, Target

Scale = Literal["smoke", "cpu", "desk", "paper"]


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
    """Of the trials, none of them the grid's; three where the best two lie within noise."""
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
    """Of the trials, none of them the grid's; three where the best two lie within noise."""
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


class AtScale(Strict):
    """What a scale lays over the rest. `paper` is for a published set-up only."""

    about: str | None = None
    """The set-up in a paragraph, where it is another one."""
    common: Overrides = Field(default_factory=dict)
    """Overrides of every run."""
    grid: Grid = Field(default_factory=dict)
    """Other values of axes of the grid."""
    select: SelectionAtScale | None = None
    """Other search, seeds or overrides of the selection."""
    sequential: Sequential | None = None
    """Looks at which the runs may stop, the claims being decided."""
    deviations: list[str] = Field(default_factory=list)
    """What differs from the paper at this scale."""
    findings: list[str] = Field(default_factory=list)
    """What was found out about the results (why a claim fails)."""
    underpowered: str = ""
    """Why the claims stand although so few seeds cannot decide them by ranks."""


class Look(Strict):
    """Where a number is read off the curves: at a place, or the steps to a target."""

    metric: Text
    """A column of metrics.csv; also SPLIT/error (1 - accuracy) and seconds_per_step."""
    at: At | None = None
    """last, best, mean or step N."""
    target: Target | None = None
    """Steps to a number, or to `best of ARM`."""
    than: str | None = None
    """With target: the speed-up over this arm."""
    relative_to: str | None = None
    """With at: the ratio to this arm."""

    @model_validator(mode="after")
    def _looks_once(self) -> Look:
        if (self.at is None) == (self.target is None):
            raise refusal("give either at or target")
        if self.than is not None and self.target is None:
            raise refusal(f"than={self.than!r} needs a target")
        if self.relative_to is not None and self.target is not None:
            raise refusal(f"relative_to={self.relative_to!r} goes with at, not with target")
        check_target(self.metric, self.target)
        return self


def check_target(metric: str, target: object) -> None:
    """Raise PydanticCustomError for a target that the metric cannot have."""
    if isinstance(target, int | float) and is_share(metric) and not 0 <= target <= 1:
        raise refusal(f"{target:g} is outside the range of {metric}, which is a fraction from 0 to 1", "target")
    if target is not None and better_direction(metric) is None:
        raise refusal(f"the name of metric {metric!r} does not tell what is better", "metric")


class Published(Look):
    """A number that the paper prints. It is judged at scale paper only."""

    arm: Text
    value: Text
    """As printed, quoted; `never` for a target that is not reached."""
    place: Text
    """Page, table and row."""
    unit: Literal["%"] | None = None
    """Where the paper prints percentages without the sign."""
    ours: bool = False
    """Whether it is a quotient that we formed of printed numbers."""
    said: bool = False
    """Whether the paper says it in words: it is shown and never judged."""

    @property
    def printed(self) -> str:
        """The number with its unit."""
        return self.value + (self.unit or "")

    @model_validator(mode="after")
    def _is_a_number(self) -> Published:
        if not self.said:
            check_printed(self.printed, self.metric if self.at else "")
        return self


def check_printed(text: str, metric: str) -> None:
    """Raise PydanticCustomError for a text that is no number, or none that the metric can be."""
    try:
        value = Printed.of(text).value
    except UserError as error:
        raise refusal(error, "value") from None
    if is_share(metric) and not 0 <= value <= 1:
        raise refusal(f"{text!r} is outside the range of {metric}, which is a fraction; percent? unit: '%'", "value")


class PublishedOnly(Strict):
    """A row of the printed table that is not run here."""

    arm: Text
    metric: Text
    value: Text
    place: Text


class Table(Strict):
    """One metric beside the published numbers, or several columns."""

    metric: str | None = None
    """Compare arms in this one, with published numbers and paired differences."""
    columns: list[str | Look] = Field(default_factory=list)
    """Several metrics side by side: a name, or where to read it off."""
    at: At | None = None
    """Where a metric is read off that does not say."""
    baseline: str | None = None
    """The arm that differences are taken to."""
    margin: float | None = Field(None, ge=0)
    """How near to a published number counts as reproduced; declared before the first run."""

    @model_validator(mode="after")
    def _shows_something(self) -> Table:
        if not self.metric and not self.columns:
            raise refusal("give a metric, to compare arms in it, or columns, a list of metrics")
        return self

    @property
    def usual(self) -> str:
        """Where a metric is read off that does not say."""
        return self.at or "last"

    @property
    def looks(self) -> list[Look]:
        """The columns; a text is a metric, read off at the usual place."""
        return [Look(metric=each, at=self.usual) if isinstance(each, str) else each for each in self.columns]


class Law(Strict):
    """What `normexp laws` prints of an experiment that tests a formula."""

    name: Text
    """A few words: what the law is about."""
    formula: Text
    """As the page prints it, in one line."""
    lesson: Text
    """What it means, for a student: the paragraph of docs/laws.md."""
    from_memory: bool = False
    """Whether the formula was not read in its source; the study's docstring then derives it."""


class ExperimentFile(Strict):
    """An experiment: one file in configs/experiment, or a file of your own."""

    paper: Text
    """Authors, year, number; for an experiment of ours what it is."""
    item: Text
    """Where it is printed."""
    title: Text
    """What it is called."""
    summary: str = ""
    """A question that the claims answer; writes summary.md, one page."""
    law: Law | None = None
    """The formula that it tests; `normexp laws` shows it, `normexp reproduce --laws` runs it."""
    about: Text
    """The set-up in a paragraph."""
    common: Overrides = Field(default_factory=dict)
    """Overrides of every run, as `normexp run` takes them."""
    arms: dict[str, Overrides] = Field(min_length=1)
    """Name as printed -> overrides; rows of the table, curves of the figure."""
    refused: dict[str, Overrides] = Field(default_factory=dict)
    """Arms that the program must refuse; the table says so, in its words."""
    grid: Grid = Field(min_length=1)
    """Key -> values; every combination is run for every arm. `seed` must be there."""
    select: Selection | None = None
    """How hyperparameters are chosen."""
    minutes: dict[Scale, float] = Field(default_factory=dict)
    """Scale -> minutes that all its runs took, one after the other, on the machine of the committed records."""
    scales: dict[Scale, AtScale | None] = Field(min_length=1)
    """What is laid over the rest at each scale."""
    table: Table
    published: list[Published] = Field(default_factory=list)
    published_only: list[PublishedOnly] = Field(default_factory=list)
    figures: list[FigureSpec] = Field(default_factory=list)
    """What is drawn; see `normexp.experiments.figures`."""
    claims: list[AnyClaim] = Field(default_factory=list)
    """Sentences of the paper, each an estimand and a region."""
    deviations: list[str] = Field(default_factory=list)
    """What differs from the paper; printed under the table."""
    underpowered: str = ""
    """Why the claims stand although so few seeds cannot decide them by ranks."""

    @model_validator(mode="after")
    def _margin_has_a_number(self) -> ExperimentFile:
        judged = [entry for entry in self.published if entry.at and not entry.said]
        if self.table.margin is not None and not judged:
            raise refusal("there is no published number to be near to", "table", "margin")
        if self.table.margin is not None and self.table.margin >= 1 and all(is_share(each.metric) for each in judged):
            raise refusal(f"{self.table.margin:g} takes in the whole range of a fraction, 0 to 1", "table", "margin")
        for i, claim in enumerate(self.claims):
            check_range(claim, i)
        return self


def check_range(claim: Claim, index: int) -> None:
    """Raise PydanticCustomError for a target or a region of a fraction that no run can be in."""
    metric, lowest = getattr(claim, "metric", None), 0 if claim.compare == "value" else -1
    if metric is None or not is_share(metric):
        return
    given = getattr(claim, "target", None)
    for target in given if isinstance(given, list) else [given]:
        if isinstance(target, float) and not 0 <= target <= 1:
            raise refusal(f"{target:g} is outside the range of {metric}, 0 to 1", "claims", index, "target")
    region = getattr(claim, "region", None)
    if region and claim.compare in ("value", "difference", "trend") and (region.low > 1 or region.high < lowest):
        raise refusal(f"no {claim.compare} of {metric} can be there; it is from {lowest} to 1", "claims", index, "in")
