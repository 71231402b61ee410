"""A claim: one sentence of a paper as data, an estimand and the region in which it is said to lie.

compare: value         the metric of an arm, at a place of its curve
compare: difference    of an arm minus another, or minus each of several: all of them have to lie in the region
compare: ratio         of an arm over another
compare: steps         the speed-up of an arm over another: how many times fewer updates it needs to the target
compare: count         runs of an arm that diverge, stay finite, or never reach the target: all of them do
compare: equals        the metric of every run, to a number or to the other arm's run of its seed, to a tolerance
compare: trend         an arm along an axis of the grid: it grows (`> 0`), falls (`< 0`) or stays (`within M of 0`)
compare: follows       the metric of an arm is what a formula predicts, at every place of the grid, see `formula`
compare: leaves        the same of a control that breaks an assumption: somewhere it is not

text, source   the sentence, and where it stands (page, figure or section)
kind           exact, full scale, scaled or own; `kind_at` derives it where the YAML does not say
of, than       an arm, or {arm: NAME, AXIS: VALUE} for an arm at one place of the grid
metric         a column of metrics.csv
at             last | best | mean | range (largest minus smallest) | step N; a run that diverged before counts as worst
in             the region, see `normexp.evidence.claims.region`
target         a number or its text, "best of ARM": the best value of that arm's run with the same seed, or for steps a
               list of numbers: the claim is then about every one of them
origin         where the target comes from
printed        true for a number that the paper prints: it is judged at scale paper only
where          {AXIS: VALUE}: look there only; otherwise the claim is about every point of the grid
better         higher | lower, for a metric whose name does not tell
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter, model_validator

from normexp.config.schema import Strict, refusal
from normexp.evidence.claims.fields import BEST_OF, THE_OTHERS, Arm, At, AtEvery, In, Place, Rivals, Target, Text
from normexp.evidence.claims.region import Region
from normexp.evidence.curves import AxisValue, better_direction

Positive = Annotated[float, Field(gt=0)]
Kind = Literal["exact", "full scale", "scaled", "own"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Claim(Strict):
    """What every claim has; `of` and `than` have taken in `where`, and `better` what the metric's name tells."""

    text: Text
    """The sentence."""
    source: Text
    """Where it stands: page, figure or section."""
    compare: str
    """The estimand, in small letters."""
    kind: Kind | None = None
    """exact, full scale, scaled or own; it follows from the scale where it is not given."""
    printed: Literal[True] | None = None
    """Whether it is a number that the paper prints: judged at scale paper only."""
    of: Arm
    """An arm, or {arm: NAME, AXIS: VALUE} for one place of the grid."""
    where: dict[str, AxisValue] = Field(default_factory=dict)
    """{AXIS: VALUE}: look there only; otherwise at every point of the grid."""
    better: Literal["higher", "lower"] | None = None
    """For a metric whose name does not tell which."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        where = data["where"] if isinstance(data.get("where"), dict) else {}
        filled = {**data, **{key: _laid_over(where, data[key]) for key in ("of", "than") if key in data}}
        own = filled["of"] if isinstance(filled.get("of"), dict) else {}
        if isinstance(data.get("than"), list):
            filled["than"] = [_laid_over(own, each) for each in data["than"]]
        target = data.get("target")
        if isinstance(target, str) and target.startswith(BEST_OF):
            filled["target"] = {**own, "arm": target.removeprefix(BEST_OF)}
        if "better" not in data and isinstance(data.get("metric"), str):
            filled["better"] = better_direction(data["metric"])
        return filled

    def places(self) -> list[Place]:
        """Return the arms whose runs it looks at."""
        return [self.of]


def _laid_over(where: Any, given: Any) -> Any:
    """Return an arm at the axes' values, its own first; what is no arm as it is."""
    if not where or given == THE_OTHERS or not isinstance(given, str | dict):
        return given
    return {**where, **(given if isinstance(given, dict) else {"arm": given})}


class Measured(Claim):
    """A claim about a metric at a place of the curves."""

    metric: Text
    """A column of metrics.csv."""
    at: At = "last"
    """last, best, mean, range or step N; a run that diverged before counts as worst."""

    @model_validator(mode="after")
    def _knows_the_best(self) -> Measured:
        if self.at == "best":
            check_better(self.better, self.metric)
        return self


def check_better(better: str | None, metric: str) -> None:
    """Raise PydanticCustomError where nothing tells whether more of the metric is better."""
    if better is None:
        raise refusal(f"say better: higher or better: lower; the name {metric!r} does not tell")


class Value(Measured):
    """The metric of an arm."""

    compare: Literal["value"]
    """`value`."""
    region: In = Field(alias="in")
    """The region in which it is said to lie."""


class Difference(Measured):
    """Of `of` minus every arm of `than`."""

    compare: Literal["difference"]
    """`difference`."""
    than: Rivals
    """The other arm, several, or `the others`."""
    region: In = Field(alias="in")
    """The region in which it is said to lie."""

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
    region: In = Field(alias="in")
    """The region in which it is said to lie."""

    @model_validator(mode="after")
    def _is_above_zero(self) -> Ratio:
        check_above_zero(self.region)
        return self

    def places(self) -> list[Place]:
        return [self.of, self.than]


def check_above_zero(region: Region) -> None:
    """Raise PydanticCustomError for a region in which no ratio can lie."""
    if region.high <= 0 or region.low <= 0 < -region.low or region.low == 0:
        raise refusal(f"{region.text!r}: a ratio is above 0", "in")


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
    region: In = Field(alias="in")
    """The region in which it is said to lie."""

    @model_validator(mode="after")
    def _can_be_reached(self) -> StepsToTarget:
        check_above_zero(self.region)
        check_better(self.better, self.metric)
        if self.target == []:
            raise refusal("is an empty list", "target")
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
    """The difference between the ends of the axis; a region around 0 is about every pair of places."""

    compare: Literal["trend"]
    """`trend`."""
    axis: str
    """Of the grid."""
    region: In = Field(alias="in")
    """The region in which it is said to lie."""


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


AnyClaim = Annotated[
    Value | Difference | Ratio | StepsToTarget | Count | Equals | Trend | Follows | Leaves,
    Field(discriminator="compare"),
]
CLAIM: TypeAdapter[Any] = TypeAdapter(AnyClaim)


def kind_at(claim: Claim, scale: str) -> Kind:
    """Return what sort of verdict the claim gets at a scale: what the YAML says, else what follows.

    exact        an equality: an identity, arithmetic, a theorem, a law that holds to rounding
    full scale   training or measurement at a published set-up, which scale paper is
    scaled       at our scale
    own          no paper claims it: the YAML says so, and of the controls of a law it is always so
    """
    if claim.kind == "full scale" and scale != "paper":
        return "scaled"
    if claim.kind or isinstance(claim, Leaves):
        return claim.kind or "own"  # a control is ours
    exact = isinstance(claim, Equals) or (isinstance(claim, Follows) and claim.rounding is not None)
    return "exact" if exact else "full scale" if scale == "paper" else "scaled"
