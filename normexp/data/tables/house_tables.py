"""The house prices that were really paid: California's districts, and Sindian's sales."""

from __future__ import annotations

import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from normexp.data.base import Data, Split, empty_like
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.files.download import TIMEOUT
from normexp.data.tables.csv_table import read_table, table_path
from normexp.data.tables.tabular import to_data
from normexp.errors import UserError


@dataclass(frozen=True)
class HouseTable:
    """What is known of one file.

    Args:
        source: its name in `dataset.source`.
        file: its usual name, looked for in the folder of NORMEXP_DATA.
        target: the column of prices.
        unit: what 1 in that column is worth in the unit of the data set.
        unused: columns that tell nothing about a house.
    """

    title: str
    source: str
    file: str
    target: str
    unit: float = 1.0
    unused: tuple[str, ...] = ()

    def read(self, file: str | None, missing: str) -> Data | None:
        """Read `file`, else the file of the usual name; None where neither is there."""
        path = self.path(file)
        return None if path is None else self._read(path, missing)

    def path(self, file: str | None) -> Path | None:
        """Return where `file` is, else the file of the usual name; None where neither is there."""
        path = cache.folder() / self.file if file is None else table_path(file)
        return path if path.is_file() else None

    def _read(self, path: Path, missing: str) -> Data:
        table = read_table(path)
        if self.target not in table.columns:
            raise UserError(
                f"dataset.source={self.source}: {path} has no column {self.target!r}; "
                "dataset=csv dataset.target=COLUMN reads any table"
            )
        features = [name for name in table.columns if name not in (self.target, *self.unused)]
        try:
            data = to_data(table, self.target, features, missing, "regression")
        except UserError as error:
            raise UserError(f"{error}{_keys_of_csv(str(error).removeprefix(str(path)))}") from None
        whole = replace(data.train, y=(data.train.y * np.float32(self.unit)))
        return replace(data, train=whole, note=self.title).noting(data.note)


def _keys_of_csv(message: str) -> str:
    """Return the end of an error about a table that names keys of `dataset=csv`, which this data set lacks."""
    keys = sorted(set(re.findall(r"\bdataset\.(?:features|target|task)\b", message)))
    several = "are keys" if len(keys) > 1 else "is a key"
    return f" ({' and '.join(keys)} {several} of dataset=csv, which reads any table)" if keys else ""


CALIFORNIA = HouseTable("California housing", "california", "california_housing.csv", "median_house_value", unit=1e-3)
SINDIAN = HouseTable(
    "Sindian houses", "sindian", "real_estate_valuation.csv", "Y house price of unit area", unused=("No",)
)
TABLES = {table.source: table for table in (CALIFORNIA, SINDIAN)}
DOWNLOAD = ("california_housing", "scikit-learn")  # name and key of the cache's entry


def california(file: str | None, missing: str) -> Data:
    """Return all 20,640 districts of the census of 1990; prices in 1000s of USD, capped at 500 by their authors.

    A CSV file has 9 columns beside the price (the sea's as words), scikit-learn's download 8 that were made of them.

    Source: Pace & Barry 1997, "Sparse spatial autoregressions".
    """
    return CALIFORNIA.read(file, missing) or _downloaded()


def sindian(file: str | None, missing: str) -> Data:
    """Return the 414 sales in Sindian, New Taipei; prices in 10,000 New Taiwan dollars per 3.3 square metres.

    Source: Yeh & Hsu 2018, "Building real estate valuation models with comparative approach through case-based
    reasoning"; UCI data set 477, CC BY 4.0.

    Raises: UserError where no such file is there.
    """
    data = SINDIAN.read(file, missing)
    if data is None:
        raise _no_sindian()
    return data


def find(source: str, file: str | None) -> bool:
    """Tell whether `california` or `sindian` can do without the network. Raises UserError where a file is missing."""
    if source == "california":
        return CALIFORNIA.path(file) is not None or cache.holds(*DOWNLOAD)
    if SINDIAN.path(file) is None:
        raise _no_sindian()
    return True


def _no_sindian() -> UserError:
    return UserError(
        f"dataset.source=sindian: no {SINDIAN.file} in {cache.folder()}; "
        "give UCI's data set 477, saved as CSV, with dataset.file=PATH"
    )


def _downloaded() -> Data:
    content = cache.cached(*DOWNLOAD, _download)
    whole = content.split("train")
    return Data(whole, empty_like(whole), empty_like(whole), task="regression", note=content.note)


def _download() -> Content:
    """Let scikit-learn download; what it keeps are pickles, so it keeps them in a folder that goes away."""
    from sklearn.datasets import fetch_california_housing

    try:
        with TemporaryDirectory() as directory, _patience():
            x, y = fetch_california_housing(data_home=directory, return_X_y=True)
    except OSError as error:  # no network, no answer, or another checksum
        raise UserError(
            f"cannot download California housing ({' '.join(str(error).split())}); give a CSV file with the column "
            f"{CALIFORNIA.target!r} as dataset.file=PATH, or put {CALIFORNIA.file} into {cache.folder()}"
        ) from None
    prices = (100 * y[:, None]).astype(np.float32)  # given in 100,000s of USD
    whole = Split(x.astype(np.float32), prices)
    note = f"{CALIFORNIA.title}, scikit-learn's {x.shape[1]} columns"
    return Content({"train_x": whole.x, "train_y": whole.y}, note=note, source="scikit-learn")


@contextmanager
def _patience() -> Iterator[None]:
    """Give up on a network that does not answer, and keep quiet about the attempts."""
    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        socket.setdefaulttimeout(usual)
