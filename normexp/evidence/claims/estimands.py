"""What claims are about: an estimand each, in the order in which `normexp.evidence.claims.claim` explains them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from normexp.config.schema import check_once, refusal
from normexp.evidence.claims.claim import (
    Claim,
    Kind,
    Measured,
    check_above_zero,
    check_better,
)
from normexp.evidence.claims.fields import Arm, AtEvery, In, Place, Rivals, Target, Text
from normexp.evidence.scales import PAPER

Positive = Annotated[float, Field(gt=0)]


class Value(Measured):
    """The metric of an arm."""

    compare: Literal["value"]
    """`value`."""
    region: In


class Difference(Measured):
    """Of `of` minus every arm of `than`."""

    compare: Literal["difference"]
    """`difference`."""
    than: Rivals
    """The other arm, several, or `the others`."""
    region: In

    @model_validator(mode="after")
    def _compares_with_each_once(self) -> Difference:
        check_once([str(place) for place in self.rivals], "than")
        return self

    @property
    def rivals(self) -> list[Place]:
        """The arms to subtract; `the others` are known once the arms are (`check_names`)."""
        return self.than if isinstance(self.than, list) else []

    def places(self) -> list[Place]:
        return [self.of, *self.rivals]


class Ratio(Measured):
    """Of `of` over `than`."""

    compare: Literal["ratio"]
    """`ratio`."""
    than: Arm
    """The other arm."""
    region: In

    @model_validator(mode="after")
    def _is_above_zero(self) -> Ratio:
        check_above_zero(self.region)
        return self

    def places(self) -> list[Place]:
        return [self.of, self.than]


class Interaction(Measured):
    """Of `of` minus `than`, less the first of `minus` minus its second: by how much more they differ than those."""

    compare: Literal["interaction"]
    """`interaction`."""
    than: Arm
    """The other arm."""
    minus: Annotated[list[Arm], Field(min_length=2, max_length=2)]
    """Two arms, whose difference is subtracted."""
    region: In

    @model_validator(mode="after")
    def _subtracts_a_difference(self) -> Interaction:
        if self.minus[0] == self.minus[1]:
            raise refusal(f"{self.minus[0]} is compared with itself", "minus")
        return self

    def places(self) -> list[Place]:
        return [self.of, self.than, *self.minus]


class StepsToTarget(Claim):
    """The speed-up: steps of `than` over steps of `of`, both to the target."""

    compare: Literal["steps"]
    """`steps`."""
    metric: Text
    """A column of metrics.csv."""
    than: Arm
    """The other arm."""
    target: Target
    """A number or its text, a list of them, or `best of ARM`."""
    origin: str = ""
    """Where the target comes from."""
    region: In

    @model_validator(mode="after")
    def _can_be_reached(self) -> StepsToTarget:
        check_above_zero(self.region)
        check_better(self.better, self.metric)
        if self.target == []:
            raise refusal("is an empty list", "target")
        if isinstance(self.target, list):
            check_once(self.target, "target")
        return self

    def places(self) -> list[Place]:
        return [self.of, self.than, *([self.target] if isinstance(self.target, Place) else [])]


class Count(Claim):
    """All runs do it: holds; none: contradicted; some: undecided."""

    compare: Literal["count"]
    """`count`."""
    event: Literal["diverges", "stays finite", "never reaches"]
    """What all runs do."""
    metric: str = ""
    """A column of metrics.csv, for a target."""
    target: Target | None = None
    """A number or its text, or `best of ARM`."""
    origin: str = ""
    """Where the target comes from."""

    @model_validator(mode="after")
    def _has_a_target_to_reach(self) -> Count:
        reaching = self.event == "never reaches"
        for key, given in (("metric", self.metric), ("target", self.target)):
            if reaching == (given in ("", None)):
                raise refusal(f"{self.event!r} {'needs' if reaching else 'takes no'} {key}")
        if isinstance(self.target, list):
            raise refusal("a list of targets goes with compare: steps", "target")
        if reaching:
            check_better(self.better, self.metric)
        return self

    def places(self) -> list[Place]:
        return [self.of, *([self.target] if isinstance(self.target, Place) else [])]


class Equals(Measured):
    """Every run equals a number, or the other arm's run of its seed, to the tolerance. One run suffices."""

    compare: Literal["equals"]
    """`equals`."""
    value: float | None = None
    """The number."""
    than: Arm | None = None
    """The other arm, compared seed by seed."""
    tolerance: float = Field(ge=0)
    """How far every run may be from it."""

    @model_validator(mode="after")
    def _has_one_other_side(self) -> Equals:
        if (self.value is None) == (self.than is None):
            raise refusal("give either value or than")
        return self

    def places(self) -> list[Place]:
        return [self.of, *([self.than] if self.than else [])]


class Trend(Measured):
    """The difference between the ends of the axis, where no step back between two neighbours is significant; such a
    step contradicts, and the correction is for all of them. A region around 0 is about every pair of places."""

    compare: Literal["trend"]
    """`trend`."""
    axis: str
    """Of the grid."""
    region: In


class Follows(Measured):
    """The metric is what a formula predicts, at every place, to a tolerance that follows from the number of seeds."""

    compare: Literal["follows"]
    """`follows`."""
    formula: Text
    """The column that has the prediction; where it is empty the law says nothing."""
    at: AtEvery = "last"
    """last, step N, or `every` place of the curve."""
    remainder: str = ""
    """The column that has the remainder of an asymptotic law, in the unit of the metric."""
    order: str = ""
    """Of the remainder, in words: `1/width`."""
    rounding: Positive | str | None = None
    """Of an identity: the relative rounding of its arithmetic, or the column that has the absolute one; every run is
    held to it."""
    resolution: float = Field(0.1, gt=0)
    """The share of the prediction that the half-width of an interval may have for the law to be shown."""

    @model_validator(mode="after")
    def _has_one_tolerance(self) -> Follows:
        if self.rounding is not None and self.remainder:
            raise refusal("an identity (rounding) has no remainder")
        if self.order and not self.remainder:
            raise refusal("order describes a remainder; name its column")
        return self


class Leaves(Follows):
    """A control, which breaks an assumption of the law, leaves the formula: the negation of `follows`."""

    compare: Literal["leaves"]  # type: ignore[assignment]
    """`leaves`."""


AnyClaim = Annotated[
    Value | Difference | Ratio | Interaction | StepsToTarget | Count | Equals | Trend | Follows | Leaves,
    Field(discriminator="compare"),
]


def is_judged(claim: Claim, scale: str) -> bool:
    """Tell whether a claim gets a verdict at a scale: a printed number does at scale paper only."""
    return not claim.printed or scale == PAPER


def is_tested(claim: Claim, scale: str) -> bool:
    """Tell whether a claim takes part in the correction over all claims: it is judged there, by a test over seeds.

    Counts and equalities are settled run by run, a law by a level of its own.
    """
    return is_judged(claim, scale) and not isinstance(claim, Count | Equals | Follows)


def kind_at(claim: Claim, scale: str) -> Kind:
    """Return what sort of verdict the claim gets at a scale: what the YAML says, else what follows.

    exact        an equality: an identity, arithmetic, a theorem, a law that holds to rounding
    full scale   training or measurement at a published set-up, which scale paper is
    scaled       at our scale
    own          no paper claims it: the YAML says so, and of the controls of a law it is always so
    """
    if claim.kind == "full scale" and scale != PAPER:
        return "scaled"
    if claim.kind or isinstance(claim, Leaves):
        return claim.kind or "own"  # a control is ours
    exact = isinstance(claim, Equals) or (isinstance(claim, Follows) and claim.rounding is not None)
    return "exact" if exact else "full scale" if scale == PAPER else "scaled"
