"""House prices: the lecture's four rows, as many as you like of the same kind, or prices that were paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from normexp.config.identity import PUBLISHED
from normexp.data.base import Array, Data, Dataset, Split, check_fits, empty_like
from normexp.data.files.content import content_of
from normexp.data.streams import numpy_generator
from normexp.data.tables.house_tables import TABLES, california, find, sindian
from normexp.data.tables.tabular import fill_gaps, set_test_apart
from normexp.errors import UserError, unknown

# Size, bedrooms, station, price in 1000s of USD: Table 1 of the lecture, the four rows that are printed.
LECTURE = (
    (152, 4, 7200, 1550),
    (229, 3, 3000, 2286),
    (84, 1, 1500, 2930),
    (95, 3, 12000, 196),
)


@dataclass(frozen=True, kw_only=True)
class HousePrices(Dataset):
    """Features on very different scales -> a price.

    Shapes: x float32 (N, 3), size in m2, bedrooms and metres to the nearest station, y float32 (N, 1) in 1000s of USD;
    of a file, x (N, its columns).

    Args:
        source: `lecture` is the four printed rows, which serve as training, validation and test split alike;
            `synthetic` draws examples from `law`; `california` and `sindian` are files (see `house_tables`).
        file: the CSV file of `california` or `sindian`; None looks for its usual name in the folder of
            NORMEXP_DATA, and downloads `california` where it is not there.
        missing: for the gaps of a file: `drop` their rows, fill them with the training split's `mean`, or `error`.
        examples: number of synthetic examples, test included.
        test: number of examples in the test split; of a file, chosen by `split_seed`.
        noise: standard deviation of the synthetic prices around the law, in 1000s of USD.

    Source: Ferreira 2024, "INF721 Deep Learning, L12: Normalization", Table 1; the synthetic law is ours.
    """

    source: str = "synthetic"
    file: str | None = None
    missing: str = "drop"
    examples: int = 1000
    test: int = 200
    noise: float = 100.0
    validation: float = 100
    standardize_target: bool = True

    def read(self, seed: int) -> Data:
        if self.source not in _SOURCES:
            raise unknown("dataset.source", self.source, _SOURCES)
        self._check_file()
        return _SOURCES[self.source](self, seed)

    def _check_file(self) -> None:
        if self.file is not None and self.source not in _FILES:
            raise UserError(
                f"dataset.file={self.file}: dataset.source={self.source} has no file; use california or sindian"
            )

    def find(self) -> bool:
        self._check_file()
        return self.source not in _FILES or find(self.source, self.file)

    def content(self) -> str:
        if self.source not in TABLES:
            return ""
        path = TABLES[self.source].path(self.file)
        return content_of(path) if path else PUBLISHED

    def fetch(self) -> None:
        if not self.find():
            california(self.file, self.missing)

    def load(self, seed: int) -> Data:
        return fill_gaps(super().load(seed))


def law(x: Array) -> Array:
    """Return the expected price, (N, 1), in 1000s of USD, of features (N, 3).

    Linear, 600 + 9 size + 60 bedrooms - 0.05 station, and mildly nonlinear: a premium near the station of
    400 exp(-station / 1500).
    """
    size, bedrooms, station = x.T
    price = 600 + 9 * size + 60 * bedrooms - 0.05 * station + 400 * np.exp(-station / 1500)
    return np.asarray(price)[:, None]


def _lecture(options: HousePrices, seed: int) -> Data:
    table = np.array(LECTURE, dtype=np.float32)
    rows = Split(table[:, :3], table[:, 3:])
    note = "four rows; training, validation and test split are the same"
    return Data(rows, rows, rows, task="regression", note=note)


def _synthetic(options: HousePrices, seed: int) -> Data:
    if options.test >= options.examples:
        raise UserError(f"dataset.test={options.test}: must be less than dataset.examples={options.examples}")
    check_fits(20 * options.examples, f"dataset=house_prices with {options.examples:,} examples")
    rng = numpy_generator(seed, "house_prices")
    x = _features(rng, options.examples)
    y = law(x) + options.noise * rng.standard_normal((options.examples, 1))
    whole = Split(x.astype(np.float32), y.astype(np.float32))
    train, test = whole.take(np.arange(options.test, len(whole))), whole.take(np.arange(options.test))
    return Data(train, empty_like(train), test, task="regression")


def _features(rng: np.random.Generator, count: int) -> Array:
    """Draw size from 40 to 260 m2, 1 to 6 bedrooms that grow with it, a station 100 m to 15 km away."""
    size = rng.uniform(40, 260, count)
    bedrooms = np.clip(np.rint(size / 60 + rng.normal(0, 0.7, count)), 1, 6)
    station = np.exp(rng.uniform(np.log(100), np.log(15_000), count))
    return np.stack([size, bedrooms, station], axis=1)


def _from_file(options: HousePrices, seed: int) -> Data:
    data = _FILES[options.source](options.file, options.missing)
    return set_test_apart(data, options.test, options.split_seed)


_FILES = {"california": california, "sindian": sindian}
_SOURCES = {"lecture": _lecture, "synthetic": _synthetic, **dict.fromkeys(_FILES, _from_file)}
