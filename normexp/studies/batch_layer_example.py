"""A lecture's worked example of batch and layer normalization, number by number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normexp.studies.base import Number, Outcome, Setup, Study
from normexp.studies.numbers import Array, counts, entries, values

X = (("1.0", "2.0", "-1.0", "0.0"), ("0.5", "1.0", "0.5", "-1.0"), ("0.0", "0.0", "1.0", "-0.5"))
W = (("0.1", "-0.2", "0.1"), ("0.2", "0.1", "-0.1"), ("-0.1", "0.2", "0.1"))
Z = (("0.2", "0.4", "-0.1", "-0.15"), ("-0.15", "-0.3", "0.45", "-0.2"), ("0.05", "0.1", "-0.05", "0.05"))
BATCH_MEAN = (("0.08",), ("-0.05",), ("0.03",))
BATCH_VARIANCE = (("0.05",), ("0.08",), ("0.02",))
BATCH = (("0.50", "1.39", "-0.83", "-1.05"), ("-0.34", "-0.85", "1.70", "-0.51"), ("0.22", "1.14", "-1.60", "0.22"))
LAYER_MEAN = (("0.03", "0.06", "0.10", "-0.10"),)
LAYER_VARIANCE = (("0.02", "0.08", "0.06", "0.01"),)
LAYER = (("1.16", "1.16", "-0.80", "-0.46"), ("-1.27", "-1.27", "1.40", "-0.92"), ("0.11", "0.11", "-0.60", "1.38"))
READINGS = {"printed": "from the printed Z", "wx": "Z = W X", "wtx": "Z = W^T X"}


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

    def measure(self, setup: Setup) -> Outcome:
        w, x = values(W), values(X)
        z = {"printed": values(Z), "wx": w @ x, "wtx": w.T @ x}[self.reading]
        numbers = list(_numbers(z, READINGS[self.reading]))
        matrices = {"Z": z, "BN": _normalized(z, 1), "LN": _normalized(z, 0)}
        table = [
            {"matrix": name, "row": i + 1, "column": j + 1, "value": float(matrix[i, j])}
            for name, matrix in matrices.items()
            for i, j in np.ndindex(matrix.shape)
        ]
        return Outcome([{"step": 0, **counts(numbers)}], {"matrices": table}, numbers)


def _numbers(z: Array, reading: str) -> Iterator[Number]:
    given = "printed Z" in reading
    printed = [
        *([] if given else [("equation 10", "Z", Z, z)]),
        ("equation 11", "mean over the batch", BATCH_MEAN, z.mean(1, keepdims=True)),
        ("equation 12", "variance over the batch", BATCH_VARIANCE, z.var(1, keepdims=True)),
        ("equation 13", "batch-normalized Z", BATCH, _normalized(z, 1)),
        ("equation 14", "mean over the layer", LAYER_MEAN, z.mean(0, keepdims=True)),
        ("equation 15", "variance over the layer", LAYER_VARIANCE, z.var(0, keepdims=True)),
        ("equation 16", "layer-normalized Z", LAYER, _normalized(z, 0)),
    ]
    for place, quantity, matrix, computed in printed:
        yield from entries("S003", f"section 5, {place}", quantity, matrix, computed, reading=reading)


def _normalized(z: Array, axis: int) -> Array:
    return (z - z.mean(axis, keepdims=True)) / z.std(axis, keepdims=True)
