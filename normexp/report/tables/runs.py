"""The table of any runs: one row per arm, mean and standard deviation of the last evaluation over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from normexp.errors import UserError
from normexp.evidence.metrics import SCORES, better_direction
from normexp.report.frames.chosen import every_rate_was_chosen
from normexp.report.frames.frame import Frame
from normexp.report.frames.reading import where
from normexp.report.metrics import title
from normexp.report.notes import notes
from normexp.report.tables.against import against
from normexp.report.tables.row import Row, explained, rows_of
from normexp.report.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

METRICS = (*(f"{split}/{score}" for split in ("test", "validation") for score in SCORES.values()), "train/loss")
ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}  # to what is better
MEANING = (
    "Mean ± standard deviation (divisor n - 1; none for one seed) over the seeds at the last step, not the best "
    "one; diverged runs are excluded."
)


def table(frame: Frame, by: Sequence[str] = (), beside: str | None = None) -> Table:
    """Build the table of a frame.

    Args:
        by: keys whose values make the rows, instead of the arms.
        beside: an arm, or a value of the first of these keys: the first metric's difference to it stands in every row.

    Raises: UserError for a key that no run has, for such an arm, and where no run can be read.
    """
    frame.check_readable()
    frame, studies = _without_studies(frame)
    places = list(dict.fromkeys(["experiment", "scale", *frame.axes]))
    keys = list(by) or [*places, "arm"]
    keys_of_run = frame.keys(keys)
    rows = rows_of(frame, keys)
    metrics = [name for name in METRICS if any(name in row.values for row in rows)] or _all(rows)
    shown = keys if by else [key for key in keys if key == "arm" or keys_of_run[key].nunique() > 1]
    arrows = [f"{title(metric)}{ARROWS[better_direction(metric)]}" for metric in metrics]
    meaning = MEANING.replace("the seeds", "a row's runs, whatever they differ in,") if by else MEANING
    if beside is not None and not metrics:
        raise UserError("table: --against: no run is finished")
    tuned = beside is not None and every_rate_was_chosen(record.directory for record in frame.records)
    medians = explained(row.text(metric) for row in rows for metric in metrics)
    compared = None if beside is None else against(rows, by[0] if by else "arm", beside, metrics[0], tuned)
    return Table(
        title=_title(frame.keys([key for key in places if key not in shown]), by),
        heads=[*shown, "runs" if by else "seeds", "finite", *arrows, *(compared.heads if compared else ())],
        rows=[
            [
                *(row.key[key] for key in shown),
                *(str(row.seeds), f"{row.finite}/{row.seeds}"),
                *map(row.text, metrics),
                *(compared.cells(i) if compared else ()),
            ]
            for i, row in enumerate(rows)
        ],
        values=[row.plain(metrics) | (compared.plain(i) if compared else {}) for i, row in enumerate(rows)],
        texts=len(shown),
        notes={"": [meaning, *medians, *([compared.note] if compared else []), *notes(frame), *studies]},
    )


def _without_studies(frame: Frame) -> tuple[Frame, list[str]]:
    """Leave out runs that trained nothing beside runs that trained; return a note about them, too."""
    options = {record.run: record.value("study") for record in frame.records}
    studies = [run for run, option in options.items() if option not in (None, "none")]
    if not studies or "none" not in options.values():
        return frame, []
    note = f"Left out, {len(studies)} that measured something and trained nothing: {'; '.join(studies)}."
    return where(frame, {"study": ["none"]}), [note]


def _all(rows: Sequence[Row]) -> list[str]:
    """Return every metric, for runs that have none of the usual ones, as those of a study."""
    return list(dict.fromkeys(metric for row in rows for metric in row.values))


def _title(places: pd.DataFrame, by: Sequence[str]) -> str:
    """Name data set, model and experiment where one word each says it for the whole table, and what makes the rows."""
    named = [f"{key} {places[key].iloc[0]}" for key in places if places[key].nunique() == 1 and places[key].iloc[0]]
    rows = f"{',' if named else ''} by {', '.join(by)}" if by else ""
    title = f"{', '.join(named) or 'runs'}{rows}"
    return f"{title[0].upper()}{title[1:]}."
