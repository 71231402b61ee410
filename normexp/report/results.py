"""What was recorded below some folders, as pandas tables: `normexp.load`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config.places import at_home
from normexp.config.text import amount
from normexp.errors import UserError, as_python, unknown
from normexp.records.names import CLAIMS
from normexp.report.frames.frame import Frame
from normexp.report.frames.reading import frame_of, where
from normexp.report.ledger.judged import read_report
from normexp.report.tables.formats import FORMATS
from normexp.report.tables.runs import table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Results:
    """Tidy tables of runs; `normexp.report.frames.reading` lists their columns.

    Args:
        frame: the runs.
        paths: where they were found.
    """

    frame: Frame
    paths: tuple[Path, ...]

    def __repr__(self) -> str:
        """Say how many runs there are and where: what a notebook shows."""
        count = len(self.frame.records)
        return f"Results({amount(count, 'run')} of {', '.join(map(str, self.paths))})"

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: experiment, scale, arm, axes, seed, status, step, cause, and every key that varies."""
        return self.frame.runs

    @property
    def curves(self) -> pd.DataFrame:
        """One row per run, evaluation and metric, with step, epoch, metric and value."""
        return self.frame.curves

    @property
    def probes(self) -> pd.DataFrame:
        """One row per run, step, layer and statistic of what probes measured."""
        return self.frame.probes

    @cached_property
    def claims(self) -> pd.DataFrame:
        """One row per judged claim: experiment, scale, text, source, verdict, evidence, estimate, n, p, p_holm."""
        import pandas as pd

        return pd.DataFrame(row for path in self.paths for row in _claims(path))

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is in no table, and why; a line each."""
        return self.frame.left_out

    def where(self, **wanted: Any) -> Results:
        """Return the runs with a value, or one of several: where(norm=["batch", "layer"], **{"optim.lr": 0.1}).

        Raises: UserError for a key or a value that no run has, and where no run is left.
        """
        texts = {key: [str(each) for each in _several(value)] for key, value in wanted.items()}
        return Results(where(self.frame, texts), self.paths)

    def table(self, format: str = "md", by: str | Sequence[str] = (), against: str | None = None) -> str:
        """Return the table that `normexp table` prints: mean ± standard deviation of the last evaluation.

        Args:
            format: md, csv, tex or html.
            by: the key or keys whose values make the rows, instead of the arms.
            against: an arm, to which every row's difference is told, paired by seed.
        """
        if not isinstance(format, str) or format not in FORMATS:
            raise unknown("table format", str(format), FORMATS)
        keys = list(_several(by))
        if odd := [key for key in keys if not isinstance(key, str)]:
            raise UserError(f"table: by={as_python(odd[0])} is no key; give for example by=['norm', 'optim.lr']")
        if not isinstance(against, str | None):
            given = f"against={as_python(against)}"
            raise UserError(f"table: {given} is no name of an arm; give for example against='none'")
        return FORMATS[format](table(self.frame, keys, against))


def _several(given: Any) -> Iterable[Any]:
    """Return what is given as one value, or as several: a list, a set, an array, but for one without a dimension."""
    single = isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
    return [given.item() if hasattr(given, "item") else given] if single else given


def load(*paths: str | os.PathLike[str]) -> Results:
    """Read every run directory at or below the paths; nothing heavy is imported before a table is asked for.

    Raises: UserError where there is none.
    """
    if not paths:
        raise UserError("load: no path given; give run directories or a folder of them (results/runs)")
    if odd := [path for path in paths if not isinstance(path, str | os.PathLike)]:
        raise UserError(f"load: {as_python(odd[0])} is no path; give each by itself: load(*paths)")
    if "" in paths:
        raise UserError("load: '' is empty; is a variable not set?")
    folders = tuple(Path(at_home(os.fspath(path))) for path in paths)
    return Results(frame_of(folders), folders)


def _claims(folder: Path) -> Iterator[dict[str, Any]]:
    for report in map(read_report, sorted(folder.rglob(CLAIMS))):
        head = {"experiment": report.experiment, "scale": report.scale}
        yield from ({**head, **claim} for claim in report.claims)
