"""A lecture's four houses: linear regression one house at a time, with every input normalization."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.studies.arithmetic.linear_regression import Regression
from normexp.studies.arithmetic.numbers import Array
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.studies.house_prices_printed import printed_numbers

HALF = 0.5  # of the largest stable rate: a rate of the data's own, as good for one normalization as for another
NEARLY = 0.9  # of the largest stable rate: the path over the landscape zigzags where the landscape is narrow
PATH, GRID, MARGIN = 40, 41, 1.3


@dataclass(frozen=True, kw_only=True)
class HousePricesExample(Study):
    """Stochastic gradient descent from zero, one house at a time in the printed order, in float64.

    Args:
        rate: learning rate of the lecture.
        passes: over the houses, in the recorded descent.
        target: share of the first mean squared error that counts as learned.
        feature: whose weight spans, with the bias, the error landscape; counted from 1.

    Tables: `descent` and `descent_own` (update, weights, bias, error) at the lecture's rate and at half the largest
    stable one; `landscape` and `path`, gradient descent of w and b alone, at nine tenths of its largest stable rate.

    Source: Ferreira 2024, lecture L12, sections 2 to 2.2, figures 1 and 2. Differs: the bias is ours (the lecture's
    example updates weights only; its figures have w and b); it leaves the first update of the weights as it is.
    """

    rate: float = 0.1
    passes: int = 25
    target: float = 0.01
    feature: int = 2

    def measure(self, context: StudyContext) -> Outcome:
        raw, normalized = Regression.of(*_houses(context)), Regression.of(*_houses(context, context.config["inputs"]))
        if self.feature >= normalized.x.shape[1]:
            raise UserError(f"study.feature={self.feature}: the data have {normalized.x.shape[1] - 1} features")
        updates = self.passes * len(normalized.x)
        descent = list(_descent(normalized, self.rate, updates))
        plane = Regression(normalized.x[:, [self.feature - 1, -1]], normalized.y)
        tables: dict[str, Sequence[Row]] = {
            "descent": descent,
            "descent_own": list(_descent(normalized, HALF * normalized.largest_rate(), updates)),
            "landscape": list(_landscape(plane)),
            "path": list(_path(plane)),
        }
        row = {**self._metrics(normalized, raw, descent), "landscape_condition": plane.condition_number}
        numbers = list(printed_numbers(context.config.choices["inputs"]))
        return Outcome([{"step": 0, **row}], tables, numbers)

    def _metrics(self, own: Regression, raw: Regression, descent: list[dict[str, float]]) -> dict[str, object]:
        first = np.abs(self.rate * own.y[0] * own.x[0, :-1])
        overflows = not np.isfinite(descent[-1]["mse"])
        passes, without = (each.passes_to(self.target, HALF * each.largest_rate()) for each in (own, raw))
        return {
            "first_update_ratio": float(first.max() / first.min()) if first.min() else np.inf,
            "diverged": int(overflows),
            "overflow_update": descent[-1]["update"] if overflows else np.nan,
            "mse": descent[-1]["mse"],
            "condition_number": own.condition_number,
            "more_isotropic": int(own.condition_number < raw.condition_number),
            "largest_rate": own.largest_rate(),
            "passes_to_target": passes,
            "faster": int(passes < without),
        }


def _houses(context: StudyContext, inputs: object = None) -> tuple[Array, Array]:
    """Return the training split's inputs, normalized where an option is given, and its targets."""
    split = context.data.train
    if split.x.ndim != 2 or context.data.task != "regression":
        chosen = context.config.choices["dataset"]
        raise UserError(f"study=house_prices_example: dataset={chosen} is no regression on a table; use house_prices")
    x = instantiate(inputs).fit(split.x).apply(split.x) if isinstance(inputs, dict) else split.x
    return np.asarray(x, dtype=np.float64), np.asarray(split.y, dtype=np.float64)


def _descent(regression: Regression, rate: float, updates: int) -> Iterator[dict[str, float]]:
    for i, theta in enumerate(regression.one_by_one(rate, updates)):
        weights = {f"w{j}": float(weight) for j, weight in enumerate(theta[:-1], start=1)}
        yield {"update": i, **weights, "b": float(theta[-1]), "mse": regression.mse(theta)}


def _landscape(plane: Regression) -> Iterator[Row]:
    """Yield the error over w and b, around its minimum, on axes of equal length."""
    centre = np.linalg.lstsq(plane.x, plane.y)[0]
    reach = MARGIN * np.abs(centre).max() * np.linspace(-1, 1, GRID)
    for w in centre[0] + reach:
        for b in centre[1] + reach:
            yield {"w": float(w), "b": float(b), "mse": plane.mse(np.array([w, b]))}


def _path(plane: Regression) -> Iterator[Row]:
    rate = NEARLY * 2 / plane.curvatures[0]
    for i, theta in enumerate(plane.all_at_once(rate, PATH)):
        yield {"step": i, "x": float(theta[0]), "y": float(theta[1])}
