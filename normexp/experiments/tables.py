"""What an experiment's YAML says of its table: where numbers are read off, and which the paper prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from normexp.config.schema import Strict, refusal
from normexp.errors import UserError
from normexp.evidence.claims.fields import At, Text
from normexp.evidence.metrics import better_direction, is_share
from normexp.evidence.stats import Printed
from normexp.experiments.figure import Target
from normexp.experiments.ranges import check_range


class Look(Strict):
    """Where a number is read off the curves: at a place, or the steps to a target."""

    metric: Text
    """A column of metrics.csv; also SPLIT/error (1 - accuracy) and seconds_per_step."""
    at: At | None = None
    """last, best, mean, range or step N, which is the last evaluation by then."""
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

    @property
    def is_of_metric(self) -> bool:
        """Whether it is in the metric's range: no ratio, and no number of steps."""
        return self.at is not None and self.relative_to is None

    @property
    def key(self) -> tuple[object, ...]:
        """All that tells a column, or where a printed number stands, from others."""
        return self.metric, self.at, self.target, self.than, self.relative_to

    @property
    def words(self) -> str:
        """The same in words, without the metric; frozen.json finds printed numbers by them."""
        place = self.at or f"steps to {self.target}"
        parts = (("over", self.than), ("relative to", self.relative_to))
        return " ".join([place, *(f"{word} {arm}" for word, arm in parts if arm is not None)])


def check_target(metric: str, target: object) -> None:
    """Raise PydanticCustomError for a target that the metric cannot have."""
    check_range(metric, target)
    if target is not None and better_direction(metric) is None:
        raise refusal(f"the name of metric {metric!r} does not tell what is better", "metric")


class Published(Look):
    """A number that the paper prints. It is judged at scale paper only."""

    arm: Text
    """The row of the table."""
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
            check_printed(self.printed, self.metric if self.is_of_metric else "")
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
    """Its name as printed."""
    metric: Text
    """The column that it belongs to."""
    value: Text
    """As printed, quoted."""
    place: Text
    """Page, table and row."""


class Table(Strict):
    """One metric beside the published numbers, or several columns."""

    metric: str | None = None
    """Compare arms in this one, with published numbers and paired differences."""
    columns: list[Text | Look] = Field(default_factory=list)
    """Several metrics side by side: a name, or where to read it off."""
    at: At | None = None
    """Where a metric is read off that does not say."""
    baseline: str | None = None
    """The arm that differences are taken to."""
    margin: float | None = Field(None, gt=0)
    """How near to a published number counts as reproduced; declared before the first run. Without it none is judged."""

    @model_validator(mode="after")
    def _shows_something(self) -> Table:
        if not self.metric and not self.columns:
            raise refusal("give a metric, to compare arms in it, or columns, a list of metrics")
        if self.metric and self.columns:
            raise refusal("give either metric or columns; a metric is compared alone")
        return self

    @property
    def usual(self) -> str:
        """Where a metric is read off that does not say."""
        return self.at or "last"

    @property
    def looks(self) -> list[Look]:
        """The columns; a text is a metric, read off at the usual place."""
        return [Look(metric=each, at=self.usual) if isinstance(each, str) else each for each in self.columns]
