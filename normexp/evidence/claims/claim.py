"""A claim: one sentence of a paper as data, an estimand and the region in which it is said to lie.

compare: value         the metric of an arm, at a place of its curve
compare: difference    of an arm minus another, or minus each of several: all of them have to lie in the region
compare: ratio         of an arm over another
compare: interaction   a difference of two arms minus the same difference of two others, seed by seed
compare: steps         the speed-up of an arm over another: how many times fewer updates it needs to the target
compare: count         runs of an arm that diverge, stay finite, or never reach the target: all of them do
compare: equals        the metric of every run, to a number or to the other arm's run of its seed, to a tolerance
compare: trend         an arm along an axis of the grid: it grows (`> 0`), falls (`< 0`) or stays (`within M of 0`)
compare: follows       the metric of an arm is what a formula predicts, at every place of the grid, see `formula`
compare: leaves        the same of a control that breaks an assumption: somewhere it is not

text, source   the sentence, and where it stands (page, figure or section)
kind           exact, full scale, scaled or own; `kind_at` derives it where the YAML does not say
of, than       an arm, or {arm: NAME, AXIS: VALUE} for an arm at one place of the grid
minus          of an interaction, the two arms of the other difference: [ARM, ARM]
metric         a column of metrics.csv
at             last | best | mean | range (largest minus smallest) | step N; a run that diverged before counts as worst,
               its range as unknown unless `better` tells
in             the region, see `normexp.evidence.claims.region`
target         a number or its text, "best of ARM": the best value of that arm's run with the same seed, or for steps a
               list of numbers: the claim is then about every one of them
origin         where the target comes from
printed        true for a number that the paper prints: it is judged at scale paper only
where          {AXIS: VALUE}: look there only; otherwise the claim is about every point of the grid
better         higher | lower, for a metric whose name does not tell
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from normexp.config.schema import Strict, refusal
from normexp.evidence.best_of import BEST_OF
from normexp.evidence.claims.fields import THE_OTHERS, Arm, At, Place, Text, Where
from normexp.evidence.claims.region import Region
from normexp.evidence.metrics import better_direction

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
    where: Where = Field(default_factory=dict)
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
        for key, axes in (("than", own), ("minus", where)):
            if isinstance(data.get(key), list):
                filled[key] = [_laid_over(axes, each) for each in data[key]]
        target = data.get("target")
        if isinstance(target, str) and target.startswith(BEST_OF):
            filled["target"] = {**own, "arm": target.removeprefix(BEST_OF)}
        if "better" not in data and isinstance(data.get("metric"), str) and data.get("at") != "range":
            filled["better"] = better_direction(data["metric"])  # of a range it says nothing
        return filled

    @model_validator(mode="after")
    def _agrees_with_the_name(self) -> Claim:
        metric, at = getattr(self, "metric", ""), getattr(self, "at", "")
        known = better_direction(metric)
        if self.better and known and self.better != known and at != "range":
            raise refusal(f"{self.better!r}: of {metric} the {known} is better, as its name tells", "better")
        return self

    @property
    def limits(self) -> list[float]:
        """The finite ends of the region in which its number is said to lie; none without a region."""
        region = getattr(self, "region", None)
        return [end for end in (region.low, region.high) if math.isfinite(end)] if region else []

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
    """last, best, mean, range or step N (the last evaluation by then); a run that diverged before counts as worst, its
    range as unknown."""

    @model_validator(mode="after")
    def _knows_the_best(self) -> Measured:
        if self.at == "best":
            check_better(self.better, self.metric)
        return self


def check_better(better: str | None, metric: str) -> None:
    """Raise PydanticCustomError where nothing tells whether more of the metric is better."""
    if better is None:
        raise refusal(f"say better: higher or better: lower; the name {metric!r} does not tell")


def check_above_zero(region: Region) -> None:
    """Raise PydanticCustomError for a region in which no ratio can lie."""
    if region.high <= 0 or -math.inf < region.low <= 0:
        raise refusal(f"{region.text!r}: a ratio is above 0, and 1 where both are equal", "in")
