"""The printed numbers of an experiment's document, with their verdicts: numbers.md and numbers.csv."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from normexp.config.options import said_by
from normexp.evidence.audit import CITED, DOCUMENTS, NUMBERS, Audited, audited, counted
from normexp.experiments.command import command
from normexp.experiments.experiment import Experiment, run_place
from normexp.records import read_rows
from normexp.report.tables.formats import csv_text, markdown
from normexp.report.tables.table import Table

HEADS = ("document", "place", "quantity", "printed", "computed", "reading", "verdict", "remark")


def printed_numbers(experiment: Experiment, results: Path) -> tuple[Audited, ...]:
    """Return the printed numbers that the experiment's runs checked, each once."""
    found: dict[Audited, None] = {}
    for arm in experiment.arms:
        own = own_schemes({**experiment.common, **experiment.arms[arm]}.get("study", "none"))
        places = [run_place(results, experiment, arm, point) for point in experiment.points()]
        found |= dict.fromkeys(audited(row, own) for place in places for row in read_rows(place / NUMBERS))
    return tuple(found)


def own_schemes(study: str) -> list[str]:
    """Return the quantities of which a study says that the document defines a scheme of its own."""
    return said_by("study", study, "_own_schemes_") or []


def numbers_text(experiment: Experiment, results: Path) -> dict[str, str]:
    """Return {numbers.md, numbers.csv}; nothing where the experiment checks no printed number."""
    entries = printed_numbers(experiment, results)
    if not entries:
        return {}
    documents = ", ".join(dict.fromkeys(DOCUMENTS[entry.document] for entry in entries))
    made = {"": [f"Made by `{command(experiment)}`."]}
    caption = f"{experiment.title}. Printed numbers of {documents}: {counted(entry.verdict for entry in entries)}."
    rows = [
        [CITED[one.document], one.place, one.quantity, one.printed, one.shown, one.reading, one.verdict, one.remark]
        for one in entries
    ]
    table = Table(caption, HEADS, rows, [asdict(entry) for entry in entries], len(HEADS), made)
    return {"numbers.md": markdown(table), NUMBERS: csv_text(table)}
