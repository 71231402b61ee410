"""What the lecture and a page of notes print about input normalization, checked on the lecture's four houses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from normexp.studies.arithmetic.numbers import Array, entries, explained, values
from normexp.studies.base import Number

X = (("152", "229", "84", "95"), ("4", "3", "1", "3"), ("7200", "3000", "1500", "12000"))  # features, houses
FIRST_PRICE, RATE = 1550.0, 0.1
STEP = (("155",),)
FIRST_UPDATE = (("23560",), ("620",), ("1116000",))
MEAN = (("140",), ("2.75",), ("5925",))
CENTRED = (("12", "89", "-56", "-45"), ("1.25", "0.25", "-1.75", "0.25"), ("1275", "-2925", "-4425", "6075"))
SQUARED = (
    ("144", "7921", "3136", "2025"),
    ("1.5625", "0.0625", "3.0625", "0.0625"),
    ("1625625", "8555625", "19580625", "36905625"),
)
VARIANCE = (("3306.5",), ("1.1875",), ("16666875",))
DEVIATION = (("57.50",), ("1.09",), ("4082.50",))
NORMALIZED = (
    ("0.209", "1.548", "-0.974", "-0.783"),
    ("1.147", "0.229", "-1.606", "0.229"),
    ("0.312", "-0.717", "-1.084", "1.489"),
)
HALF_A_DIGIT = 0.5e-3  # of the printed normalized matrix


def printed_numbers(inputs: str) -> Iterator[Number]:
    """Yield what is printed about one option of `inputs`, in float64 from the printed matrix; often nothing."""
    if inputs in _PRINTED:
        yield from _PRINTED[inputs](values(X))


def _without(x: Array) -> Iterator[Number]:
    place = "section 2, impact of different scales"
    update = RATE * FIRST_PRICE * x[:, :1]
    factor = "learning rate times error of the first example"
    yield from entries("S003", place, factor, STEP, np.array([[RATE * FIRST_PRICE]]))
    yield from entries("S003", place, "w after the first example", FIRST_UPDATE, update)
    yield Number(
        document="S003",
        place=place,
        quantity="the station's weight gets a much larger update, due to its scale",
        printed="much larger",
        computed=f"{update[2, 0] / update[0, 0]:.4g} times the size's, {update[2, 0] / update[1, 0]:.4g} times "
        "the bedrooms', as their values",
        agrees=bool(update[2, 0] > 10 * update[:2, 0].max() and np.ptp(update / x[:, :1]) < 1e-12),
    )


def _standardized(x: Array) -> Iterator[Number]:
    mean, deviation = x.mean(1, keepdims=True), x.std(1, keepdims=True)
    printed = [
        ("mean", "mean", MEAN, mean),
        ("equation 3", "X - mean", CENTRED, x - mean),
        ("equation 4", "(X - mean) squared", SQUARED, (x - mean) ** 2),
        ("variance", "variance", VARIANCE, x.var(1, keepdims=True)),
        ("equation 5", "standard deviation", DEVIATION, deviation),
        ("equation 8", "normalized X", NORMALIZED, (x - mean) / deviation),
    ]
    for place, quantity, matrix, computed in printed:
        yield from map(explained, entries("S003", f"section 2.1, {place}", quantity, matrix, computed))
    yield _snippet(x)
    yield _whole_mean(x)


def _snippet(x: Array) -> Number:
    mean, deviation = np.mean(x, axis=1, keepdims=True), np.std(x, axis=1, keepdims=True)
    apart = np.abs((x - mean) / (deviation + 1e-8) - (x - mean) / deviation).max()
    return Number(
        document="S003",
        place="section 2.2, NumPy function",
        quantity="the code computes equation 6",
        printed="X_norm = (X - mean) / (std + 1e-8)",
        computed=f"at most {apart:.1e} away from equation 6 on the four houses",
        agrees=bool(apart < HALF_A_DIGIT),
        remark="The 1e-8 keeps a constant feature finite; it is added to the standard deviation, while the batch "
        "normalization of section 3 adds its eps to the variance.",
    )


def _whole_mean(x: Array) -> Number:
    whole = (x - x.mean()) / x.std()
    means = ", ".join(f"{mean:.3g}" for mean in whole.mean(1))
    return Number(
        document="S001",
        place="third code line",
        quantity="(x - x.mean()) / x.std() has its mean at 0",
        printed="values from ? to ?, but mean at 0",
        computed=f"values from {whole.min():.3g} to {whole.max():.3g} and mean {abs(whole.mean()):.1g}; "
        f"means of the dimensions {means}",
        agrees=bool(abs(whole.mean()) < 1e-12),
        reading="x is the whole array of the four houses",
        remark="Of the array as a whole; for the dimensions, as the text above the code has it, mean and standard "
        "deviation need axis=0.",
    )


def _between_zero_and_one(x: Array) -> Iterator[Number]:
    yield from _ranges(x, "first code line", "(x - x.min()) / (x.max() - x.min())", low=0.0)


def _between_minus_one_and_one(x: Array) -> Iterator[Number]:
    yield from _ranges(x, "second code line", "2*(x - x.min()) / (x.max() - x.min()) - 1", low=-1.0)


def _ranges(x: Array, place: str, code: str, low: float) -> Iterator[Number]:
    """Yield whether a line of code maps each dimension to [low, 1], as the text says, under both readings of its x."""
    for reading, axis in (("x is the whole array", None), ("x is one dimension", 1)):
        least, most = x.min(axis, keepdims=True), x.max(axis, keepdims=True)
        mapped = low + (1.0 - low) * (x - least) / (most - least)
        ends = [f"{row.min():.3g} to {row.max():.3g}" for row in mapped]
        scales = mapped.std(1).max() / mapped.std(1).min()
        yield Number(
            document="S001",
            place=place,
            quantity=f"min and max along each dimension are {low:g} and 1",
            printed=code,
            computed=f"size {ends[0]}, bedrooms {ends[1]}, station {ends[2]}",
            agrees=bool(np.allclose(mapped.min(1), low) and np.allclose(mapped.max(1), 1.0)),
            reading=f"{reading} of the four houses" if axis is None else reading,
            remark=f"With minimum and maximum of the whole array the largest standard deviation of a dimension stays "
            f'{scales:.4g} times the smallest; the text\'s "each dimension" is x.min(axis=0), x.max(axis=0).'
            if axis is None
            else "",
        )


_PRINTED: dict[str, Callable[[Array], Iterator[Number]]] = {
    "none": _without,
    "standardize": _standardized,
    "minmax": _between_zero_and_one,
    "minmax_symmetric": _between_minus_one_and_one,
}
