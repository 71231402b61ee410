"""The exercises of a lecture on normalization: the computed answers, and whether an option contains them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from normexp.evidence.audit import CORRECT, judged
from normexp.seeding import seeded
from normexp.studies.arithmetic.numbers import Array
from normexp.studies.base import Number, Outcome, Study, StudyContext

EXAMPLES, FEATURES = 1, 0  # axes of a matrix (features, examples)
READINGS = {
    "biased": "variance over n",
    "sample": "variance over n - 1",
    "other_axis": "sums over the other axis",
}
BATCHES, SMALL, LARGE = 1000, 2, 32  # S003, section 6: "sufficiently large (e.g, 32 or more)"


@dataclass(frozen=True)
class Exercise:
    """A calculation with printed options; the answer is the first `wanted` numbers of the normalized first row."""

    number: int
    quantity: str
    matrix: tuple[tuple[float, ...], ...]
    axis: int
    wanted: int
    options: tuple[tuple[str, ...], ...]

    def answer(self, reading: str) -> Array | None:
        """Return the answer under a reading; None where it has none: one example has no other axis."""
        z = np.array(self.matrix)
        axis = 1 - self.axis if reading == "other_axis" else self.axis
        if z.shape[axis] == 1:
            return None
        deviation = z.std(axis, ddof=int(reading == "sample"), keepdims=True)
        return np.asarray(((z - z.mean(axis, keepdims=True)) / deviation)[0, : self.wanted])

    def matching(self, answer: Array) -> str:
        """Return the letters of the options that are the answer, rounded to the printed digits."""
        return "".join(
            letter
            for letter, option in zip("abcd", self.options, strict=True)
            if all(judged(text, str(value)) == CORRECT for text, value in zip(option, answer, strict=True))
        )


CALCULATIONS = (
    Exercise(
        number=1,
        quantity="input normalization, first row",
        matrix=((4, 6, 2), (8, 12, 4)),
        axis=EXAMPLES,
        wanted=3,
        options=(
            ("-0.82", "1.63", "-0.82"),
            ("-1.00", "1.41", "-0.41"),
            ("-0.71", "1.41", "-0.71"),
            ("-0.58", "1.15", "-0.58"),
        ),
    ),
    Exercise(
        number=2,
        quantity="batch normalization, first feature of the first example",
        matrix=((2, -1, 0, 1), (-2, 3, -1, 0), (4, 1, 2, -1)),
        axis=EXAMPLES,
        wanted=1,
        options=(("0.89",), ("1.22",), ("0.76",), ("1.41",)),
    ),
    Exercise(
        number=4,
        quantity="layer normalization, first element",
        matrix=((4,), (2,), (-2,)),
        axis=FEATURES,
        wanted=1,
        options=(("0.82",), ("1.22",), ("1.41",), ("0.91",)),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Exercises(Study):
    """Exercises 1, 2 and 4 calculated; of 3 and 5 what can be measured.

    Args:
        reading: `biased` divides the variance by n, as the lecture's sections 2 to 4 do; `sample` by n - 1;
            `other_axis` is biased, and normalizes examples where the lecture normalizes features.

    Source: Ferreira 2024, lecture L12, exercises.
    """

    reading: str = "biased"

    def measure(self, context: StudyContext) -> Outcome:
        answers = [(each, each.answer(self.reading)) for each in CALCULATIONS]
        found = [(exercise, answer) for exercise, answer in answers if answer is not None]
        numbers = [_calculated(exercise, answer, READINGS[self.reading]) for exercise, answer in found]
        answered = sum(bool(exercise.matching(answer)) for exercise, answer in found)
        if self.reading == "biased":
            numbers += [_difference(), *_small_batches(context.seed)]
        return Outcome([{"step": 0, "calculated": len(found), "answered": answered}], {}, numbers)


def _calculated(exercise: Exercise, answer: Array, reading: str) -> Number:
    letters = exercise.matching(answer)
    computed = ", ".join(f"{value + 0.0:.2f}" for value in answer.round(2))
    return Number(
        document="S003",
        place=f"exercise {exercise.number}",
        quantity=f"{exercise.quantity}: one of the options is the answer",
        printed="; ".join(f"({a}) {', '.join(option)}" for a, option in zip("abcd", exercise.options, strict=True)),
        computed=computed,
        agrees=bool(letters),
        reading=reading,
        remark=f"It is option ({letters})." if letters else f"With the {reading} it is {computed}: none of them.",
    )


def _difference() -> Number:
    """Return exercise 3, each of its options measured on a layer of three features and four examples."""
    true = [letter for letter, holds in _options_of_three().items() if holds]
    return Number(
        document="S003",
        place="exercise 3",
        quantity="the key difference between BatchNorm and LayerNorm: one of the options is true",
        printed="(b) across the batch dimension against across the feature dimension",
        computed="true as measured: " + ", ".join(f"({letter})" for letter in true),
        agrees="b" in true,
        remark="Option (c), each feature independently against all features together, is true, too."
        if "c" in true
        else "",
    )


def _options_of_three() -> dict[str, bool]:
    """Return which options hold: on what does the normalized first feature of the first example depend?"""
    batch, layer = _depends(nn.BatchNorm1d(3)), _depends(nn.LayerNorm(3))
    both_learn = all(any(p.requires_grad for p in norm.parameters()) for norm in (nn.BatchNorm1d(3), nn.LayerNorm(3)))
    return {
        "a": batch["feature"] and not layer["feature"],
        "b": batch["example"] and not batch["feature"] and layer["feature"] and not layer["example"],
        "c": not batch["feature"] and layer["feature"],
        "d": not both_learn,
    }


def _depends(norm: nn.Module) -> dict[str, bool]:
    """Return whether another example, or another feature of the same one, changes the output of z[0, 0]."""
    z = torch.tensor(CALCULATIONS[1].matrix, dtype=torch.float32).T  # (examples, features)
    found = {}
    for name, place in {"example": (1, 0), "feature": (0, 1)}.items():
        changed = z.clone()
        changed[place] += 1
        found[name] = bool((norm(changed)[0, 0] - norm(z)[0, 0]).abs() > 1e-3)
    return found


def _small_batches(seed: int) -> Iterator[Number]:
    """Yield exercise 5 (a): how far the batch that an example happens to be in moves its normalized value."""
    with seeded(seed, "exercises"), torch.no_grad():
        spread = {(type(norm).__name__, size): _spread(norm, size) for norm in (nn.BatchNorm1d(3), nn.LayerNorm(3))
                  for size in (SMALL, LARGE)}  # fmt: skip
    batch, layer = ([spread[name, size] for size in (SMALL, LARGE)] for name in ("BatchNorm1d", "LayerNorm"))
    yield Number(
        document="S003",
        place="exercise 5",
        quantity="(a) prefer LayerNorm when working with small batch sizes",
        printed="(a)",
        computed="standard deviation of one example's value over random batches: "
        f"batch {batch[0]:.2f} at size {SMALL}, {batch[1]:.2f} at {LARGE}; layer {max(layer):.2g} at both",
        agrees=batch[0] > batch[1] > 0 and max(layer) < 1e-6,
        remark="Section 6 adds (b), tasks of language, which is not measured here.",
    )


def _spread(norm: nn.Module, size: int) -> float:
    """Return the standard deviation of the first feature of a fixed example among random others."""
    example = torch.tensor([[1.0, -0.5, 0.3]])
    others = torch.randn(BATCHES, size - 1, 3)
    outputs = torch.stack([norm(torch.cat([example, other]))[0, 0] for other in others])
    return float(outputs.std())
