"""A lecture's worked example of batch and layer normalization, number by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from normexp.evidence.audit import WRONG, judged
from normexp.studies.arithmetic.numbers import Array, counts, entries, explained, values
from normexp.studies.base import Number, Outcome, Row, Study, StudyContext

X = (("1.0", "2.0", "-1.0", "0.0"), ("0.5", "1.0", "0.5", "-1.0"), ("0.0", "0.0", "1.0", "-0.5"))
W = (("0.1", "-0.2", "0.1"), ("0.2", "0.1", "-0.1"), ("-0.1", "0.2", "0.1"))
Z = (("0.2", "0.4", "-0.1", "-0.15"), ("-0.15", "-0.3", "0.45", "-0.2"), ("0.05", "0.1", "-0.05", "0.05"))
BATCH_MEAN = (("0.08",), ("-0.05",), ("0.03",))
BATCH_VARIANCE = (("0.05",), ("0.08",), ("0.02",))
BATCH = (("0.50", "1.39", "-0.83", "-1.05"), ("-0.34", "-0.85", "1.70", "-0.51"), ("0.22", "1.14", "-1.60", "0.22"))
LAYER_MEAN = (("0.03", "0.06", "0.10", "-0.10"),)
LAYER_VARIANCE = (("0.02", "0.08", "0.06", "0.01"),)
LAYER = (("1.16", "1.16", "-0.80", "-0.46"), ("-1.27", "-1.27", "1.40", "-0.92"), ("0.11", "0.11", "-0.60", "1.38"))
READINGS = {"printed": "the printed Z", "wx": "Z = W X", "wtx": "Z = W^T X"}
EXAMPLES, FEATURES = 1, 0  # axes of Z


@dataclass(frozen=True)
class Step:
    """One printed matrix: where it stands, what it is, and how it follows from Z."""

    place: str
    quantity: str
    printed: tuple[tuple[str, ...], ...]
    compute: Callable[[Array], Array]

    def numbers(self, z: Array, reading: str) -> Iterator[Number]:
        yield from entries("S003", f"section 5, {self.place}", self.quantity, self.printed, self.compute(z), reading)


@dataclass(frozen=True, kw_only=True)
class BatchLayerExample(Study):
    """Every printed matrix of the example beside what follows from the printed inputs.

    Args:
        reading: what the pre-activations Z, (features, examples), are: `wx` is W X, as the text says; `wtx` is
            W^T X; `printed` takes the printed Z as given.

    Statistics are biased (division by n), without eps, as the example prints neither.

    Source: Ferreira 2024, lecture L12, section 5, equations 9 to 16.
    """

    reading: str = "wx"

    def measure(self, context: StudyContext) -> Outcome:
        z = _readings()[self.reading]
        product = [] if self.reading == "printed" else list(_explained([PRODUCT], z, self.reading))
        rest = list(_explained(NORMALIZATION, z, self.reading))
        numbers = [*product, *rest]
        row = {"step": 0, **counts(numbers), "wrong_z": counts(product)["wrong"]}
        return Outcome([row], {"matrices": list(_matrices(z))}, numbers)


def _normalized(axis: int) -> Callable[[Array], Array]:
    return lambda z: (z - z.mean(axis, keepdims=True)) / z.std(axis, keepdims=True)


PRODUCT = Step("equation 10", "Z", Z, lambda z: z)
NORMALIZATION = (
    Step("equation 11", "mean over the batch", BATCH_MEAN, lambda z: z.mean(EXAMPLES, keepdims=True)),
    Step("equation 12", "variance over the batch", BATCH_VARIANCE, lambda z: z.var(EXAMPLES, keepdims=True)),
    Step("equation 13", "batch-normalized Z", BATCH, _normalized(EXAMPLES)),
    Step("equation 14", "mean over the layer", LAYER_MEAN, lambda z: z.mean(FEATURES, keepdims=True)),
    Step("equation 15", "variance over the layer", LAYER_VARIANCE, lambda z: z.var(FEATURES, keepdims=True)),
    Step("equation 16", "layer-normalized Z", LAYER, _normalized(FEATURES)),
)


def _readings() -> dict[str, Array]:
    w, x = values(W), values(X)
    return {"printed": values(Z), "wx": w @ x, "wtx": w.T @ x}


def _explained(steps: tuple[Step, ...] | list[Step], z: Array, reading: str) -> Iterator[Number]:
    """Yield every number; a wrong one says whether it is that of W^T X, which the printed Z is, or of no reading."""
    for step in steps:
        others = step.numbers(_readings()["wtx"], READINGS["wtx"])
        for number, other in zip(step.numbers(z, READINGS[reading]), others, strict=True):
            yield explained(number, _reason(other))


def _reason(other: Number) -> str:
    if judged(other.printed, str(other.computed)) != WRONG:
        return "The printed one follows from W^T X."
    return "No reading of W, X and Z gives the printed one."


def _matrices(z: Array) -> Iterator[Row]:
    for name, matrix in {"Z": z, "BN": _normalized(EXAMPLES)(z), "LN": _normalized(FEATURES)(z)}.items():
        for i, j in np.ndindex(matrix.shape):
            yield {"matrix": name, "row": i + 1, "column": j + 1, "value": float(matrix[i, j])}
