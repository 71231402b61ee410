"""A table of your own: any CSV file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from normexp.config.text import as_item, composed
from normexp.data.base import Data, Dataset
from normexp.data.files.content import content_of
from normexp.data.remarks import say_repeated, say_unseen
from normexp.data.tables.csv_table import read_table, table_path
from normexp.data.tables.tabular import Task, fill_gaps, set_test_apart, to_data
from normexp.errors import UserError


@dataclass(frozen=True, kw_only=True)
class CsvFile(Dataset):
    """One example per line of a CSV file with a header.

    Shapes: x float32 (N, D), a column of words counting as one per word; y float32 (N, 1), or int64 (N,) for classes.

    Args:
        file: the CSV file.
        target: the column to predict.
        features: the columns to predict it from; None takes all others.
        task: `regression`, or `classification`, whose target may be words or numbers. It is never guessed: whole
            numbers can be either.
        missing: `error`, `drop` the rows with gaps, or fill them with the training split's `mean`; a row without
            target is dropped in both.
        test: number of rows in the test split, chosen by `split_seed`, or their share (0.2; of every class); None is a
            fifth of them. Shares, that of `validation` too, are of all rows.
        standardize_target: of a regression; classes stay as they are.

    Source, licence: yours.
    """

    file: str | None = None
    target: str | None = None
    features: tuple[str, ...] | None = None
    task: Task = "regression"
    missing: str = "error"
    test: float | None = None
    standardize_target: bool = True

    def read(self, seed: int) -> Data:
        table = read_table(self._path())
        if self.target is None:
            raise UserError(
                "dataset.target is not set: name the column to predict; there are "
                f"{', '.join(map(as_item, table.columns))}"
            )
        features = self.features and tuple(map(composed, self.features))
        data = to_data(table, composed(self.target), features, self.missing, self.task)
        test = max(1, len(data.train) // 5) if self.test is None else self.test
        return set_test_apart(data, test, self.split_seed)

    def find(self) -> bool:
        self._path()
        return True

    def content(self) -> str:
        return content_of(self._path())

    def _path(self) -> Path:
        if self.file is None:
            raise UserError("dataset.file is not set: give a CSV file, and its column to predict as dataset.target")
        return table_path(self.file)

    def load(self, seed: int) -> Data:
        of_task = replace(self, standardize_target=self.standardize_target and self.task == "regression")
        return say_repeated(say_unseen(fill_gaps(super(CsvFile, of_task).load(seed))))
