"""Write docs/drift.md: of every experiment one committed run, trained again, from results/drift.csv.

python scripts/make_drift.py

The table itself is what `normexp verify drift NAME... --csv results/drift.csv` found, on the machine that it ran on.
"""

from collections import Counter
from pathlib import Path

from normexp.records import write_atomically
from normexp.verify.drift import TOLERANCE
from normexp.verify.drift_table import read_table

TOP = Path(__file__).resolve().parent.parent
TABLE, DOCUMENT = TOP / "results" / "drift.csv", TOP / "docs" / "drift.md"
HEAD = """# Committed runs, trained again

Do the committed results come out again, on other processors and at later commits?

One run of every experiment, the cheapest of those that finished without diverging, was trained again at {commits}
and compared with its committed record: {counts}. (The command below is newer than these
commits; what it trains with is theirs.)

- *Equal bytes*: every CSV file is the same, to the last digit.
- *Within tolerance*: no number differs by more than {tolerance:g} of the largest of its column.
- *Moved*: one does. Two processors round differently, and training amplifies that, the more the longer it takes and the
  nearer it is to divergence. The table has the number that differs most, by how much (relative to the largest of its
  column), and what differs between the two machines.

`normexp verify drift NAME... --csv results/drift.csv` repeats it on your machine (`dataset.archive=` and
`dataset.file=` say where data are), `python scripts/make_drift.py` writes this page.

| experiment | run | verdict | differs most | by | machines, below |
| --- | --- | --- | --- | ---: | :-: |
"""


def document(path: Path = TABLE) -> str:
    """Return the page of a table of drift."""
    rows = read_table(path).to_dict("records")
    counts = Counter(row["verdict"] for row in rows)
    commits = sorted({row["commit"][:8] for row in rows if row["commit"]})
    causes = list(dict.fromkeys(row["why"] for row in rows if row["why"]))
    head = HEAD.format(
        commits=", ".join(commits),
        counts=", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()),
        tolerance=TOLERANCE,
    )
    lines = [line(row, causes) for row in rows]
    notes = [f"{number}. {cause}" for number, cause in enumerate(causes, 1)]
    return head + "\n".join(lines) + "\n\n## What differs between the two machines\n\n" + "\n".join(notes) + "\n"


def line(row: dict[str, str], causes: list[str]) -> str:
    """Return a row of the page's table; `causes` are numbered below it."""
    step = f" at step {row['step']}" if row["step"] else ""
    place = f"{row['column']}{step}: {row['before']}, now {row['now']}" if row["column"] else ""
    by = f"{float(row['relative']):.1e}" if row["relative"] else ""
    cells = (
        f"{row['experiment']}, {row['scale']}", f"`{row['run']}`", row["verdict"], place, by,
        str(causes.index(row["why"]) + 1) if row["why"] else "",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_atomically(DOCUMENT, document())
