"""How much a result depends on a hyperparameter such as the learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from normexp.evidence.curves import Curve
from normexp.evidence.metrics import better_direction, cost_sign
from normexp.evidence.reading import value_at

FEWEST = 3  # values of the hyperparameter: two have no curve between them


def sensitivity(curves: Mapping[float, Curve], metric: str) -> float:
    """Return how far the metric lies behind its best, on average over the logarithm of the hyperparameter.

    S = mean over log x, from the least to the largest x tried, of |m(x) - best m|, by the trapezoidal rule, in the unit
    of the metric. A run that diverged, or ended worse than before its first update, counts as if it had learned
    nothing: m(x) = m before the first update. So S = 0 where every value does equally well.

    Args:
        curves: value of the hyperparameter, above 0 -> the run with it; at least three, of one seed.
        metric: whose name tells what is better; read off at the last evaluation.

    Source: Wortsman et al. 2023, arXiv:2309.14322, "learning rate sensitivity".
    Differs: there the mean is over the rates tried, which weighs the ends of an even grid twice as much.
    """
    sign = cost_sign(metric)
    costs = [_cost(curves[place], metric, sign) for place in sorted(curves)]
    logs = [math.log(place) for place in sorted(curves)]
    behind = [cost - min(costs) for cost in costs]
    parts = zip(logs, logs[1:], behind, behind[1:], strict=False)
    return sum((right - left) * (a + b) / 2 for left, right, a, b in parts) / (logs[-1] - logs[0])


def _cost(curve: Curve, metric: str, sign: float) -> float:
    start, end = (
        sign * float(curve.columns[metric][0]),
        sign * value_at(curve, metric, "last", better_direction(metric)),
    )
    return min(start, end) if math.isfinite(start) else end


def has_range(places: Iterable[float]) -> bool:
    """Tell whether these values of a hyperparameter have a curve: three or more, all above 0."""
    different = set(places)
    return len(different) >= FEWEST and min(different) > 0
