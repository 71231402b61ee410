"""One page about an experiment, made from its claims: what holds, what does not, what the runs cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from normexp.config.text import amount
from normexp.evidence.claims import CONTRADICTED, HOLDS, NOT_JUDGED, NOT_YET, UNDECIDED
from normexp.evidence.metrics import better_direction, cost_sign
from normexp.experiments.experiment import Experiment, Point
from normexp.report.experiment.columns import Metric, Row
from normexp.report.experiment.table import SET_UP
from normexp.report.frames.measured import Measured
from normexp.report.ledger.judged import flags_of
from normexp.report.markdown import prose
from normexp.report.tables.row import explained

BEST = 5  # arms named per point of the grid
HEADINGS = {
    HOLDS: "What holds here",
    CONTRADICTED: "What does not",
    UNDECIDED: "What these runs cannot tell",
    NOT_JUDGED: "Published numbers, which only the published set-up can judge",
    NOT_YET: "Not judged before all runs are trained",
    "preview": "What the full scale will judge",
    "Deviations": "What to keep in mind",
}


def summary_text(
    experiment: Experiment,
    measured: Measured,
    claims: Sequence[Mapping[str, Any]],
    notes: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """Return {summary.md}; nothing where the experiment asks no question.

    Args:
        claims: the entries of claims.json.
        notes: of the table: runs, what was changed after them, findings, deviations.
    """
    if not experiment.summary:
        return {}
    lines = [f"# {prose(experiment.summary)}", "", f"{prose(experiment.about)} Scale: {experiment.scale}.", ""]
    lines += [f"Only {measured.partly}.", ""] if measured.partly else []
    for verdict, heading in HEADINGS.items():
        judged = [claim for claim in claims if claim["verdict"] == verdict]
        if judged:
            lines += [f"## {heading}", "", *(line for claim in judged for line in _claim(claim)), ""]
    best = [] if measured.waiting else list(_best(experiment, measured))
    lines += ["## Ranking", "", *best, ""] if best else []
    for heading, sentences in notes.items():
        if sentences and heading != SET_UP:
            lines += [f"## {HEADINGS.get(heading, heading)}", "", *(f"- {prose(text)}" for text in sentences), ""]
    lines += ["[The table](table.md) has all arms."]
    return {"summary.md": "\n".join(lines) + "\n"}


def _claim(claim: Mapping[str, Any]) -> Iterator[str]:
    yield f"- {prose(claim['text'])}. [{prose(claim['source'])}]"
    yield f"  {prose(claim['evidence'])}"
    yield from (f"  - {prose(said)}" for said in (*flags_of(claim), *claim["changed"]))


def _best(experiment: Experiment, measured: Measured) -> Iterator[str]:
    """Yield a line per point of the grid: its best arms in the first metric that has a better side."""
    looks = [each for each in experiment.table.looks if each.at and not each.relative_to]
    look = next((each for each in looks if better_direction(each.metric)), None)
    if look is None:
        return
    column = Metric(measured, look.metric, look.at or "")
    cells = [column.text(row) for row in map(Row, measured.curves)]
    middle = "mean or median" if explained(cells) else "mean"
    meaning = "only a claim above says whether a difference is more than chance"
    yield f"By {column.head}, {middle} over the seeds; {meaning}."
    if any(column.count(row) > len(column.finite(row)) for row in map(Row, measured.curves)):
        yield "Arms with a run that has no finite value come after those without."
    yield ""
    for point in dict.fromkeys(cell.point for cell in measured.curves):
        where = ", ".join(f"{axis}={value}" for axis, value in point)
        yield f"- {f'{where}: ' if where else ''}{_best_at(point, column)}"


def _best_at(point: Point, column: Metric) -> str:
    """Return the best arms at a point of the grid, the best first."""
    rows = [Row(cell) for cell in column.measured.curves if cell.point == point]
    known = [row for row in rows if column.shown(row) is not None]
    known.sort(key=partial(_rank, column, cost_sign(column.metric)))
    named = [f"{prose(row.cell.arm)} {column.text(row)}" for row in known[:BEST]]
    named += [f"{amount(len(known) - BEST, 'more arm')} behind them"] if len(known) > BEST else []
    return "; ".join(named)


def _rank(column: Metric, sign: float, row: Row) -> tuple[int, float]:
    """Sort by the runs without a value, then by what is shown of the others; a diverged run does not count."""
    return column.count(row) - len(column.finite(row)), sign * (column.shown(row) or 0.0)
