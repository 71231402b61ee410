"""What `normexp report`, `plot`, `table` and `best` accept."""

from __future__ import annotations

import shlex
from pathlib import Path

from normexp.cli.parser import Parser, Verbs
from normexp.errors import UserError

FILES = (".md", ".csv", ".tex", ".html", ".json", ".pdf", ".png", ".svg")


def folder(out: str) -> str:
    """Refuse `--out t.tex`, where a folder of that name would be made."""
    path = Path(out)
    if path.suffix.lower() in FILES and not path.is_dir():
        meant = shlex.quote(str(path.with_suffix("")))
        raise UserError(f"--out {out}: is a folder for several files, not one; did you mean --out {meant}?")
    return out


def add_report(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "report",
        help="render experiments from their records",
        description="Regenerate tables, figures and verdicts from the records alone; nothing is trained. All of it "
        "also becomes one page, report.html, that needs nothing but a browser. Of a folder of runs: that page.",
    )
    command.add_argument("names", nargs="*", metavar="NAME|PATH|KEY=VALUE", help="default: all that has records")
    command.add_argument("--open", action="store_true", help="show the page in the browser")
    command.add_argument(
        "--out", metavar="DIR", type=folder, help="write the figures alone, there: for a paper or a talk"
    )
    _add_figure_options(command)


def add_plot(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "plot",
        help="draw curves of run directories",
        description="Draw curves, with their caption in a .md file. KEY=VALUE,... keeps the runs with one of these "
        "values: normexp plot results/runs norm=batch,layer",
    )
    _add_paths(command)
    command.add_argument("--by", metavar="KEY,...", help="one line per value of these keys, instead of one per arm")
    command.add_argument("--out", metavar="DIR", type=folder, help="where to write; default: beside the runs")
    command.add_argument("--metric", metavar="NAME", help="a column of metrics.csv, for example test/accuracy")
    _add_figure_options(command)


def add_table(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "table",
        help="tabulate run directories",
        description="Tabulate run directories: one row per arm, named by the keys that vary. KEY=VALUE,... keeps the "
        "runs with one of these values: normexp table results/runs norm=batch,layer",
    )
    _add_paths(command)
    command.add_argument("--by", metavar="KEY,...", help="one row per value of these keys, instead of one per arm")
    command.add_argument(
        "--against", metavar="ARM", help="every row's difference to this one, paired by seed, with interval and p"
    )
    _add_table_format(command)
    command.add_argument("--out", metavar="DIR", type=folder, help="write table.md, .csv, .tex and .html there as well")


def add_best(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "best",
        help="find the best value of every swept hyperparameter",
        description="Print the best value of every swept hyperparameter per arm, by the validation split, with its "
        "spread, the next best, and a warning where it lies at the edge of its grid.",
    )
    _add_paths(command)
    command.add_argument("--over", metavar="KEY,...", help="the hyperparameters (default: all with several values)")
    command.add_argument("--out", metavar="DIR", type=folder, help="draw the metric over each hyperparameter, there")
    command.add_argument("--metric", metavar="NAME", help="choose by this column of metrics.csv instead")
    _add_table_format(command)


def _add_paths(command: Parser) -> None:
    command.add_argument("paths", nargs="*", metavar="PATH|KEY=VALUE,...", help="run directories, folders; filters")
    command.add_argument("--last-sweep", action="store_true", help="the runs of the last sweep alone")


def _add_figure_options(command: Parser) -> None:
    command.add_argument(
        "--format", action="append", default=[], metavar="FORMAT", help="png, svg, pdf or several; default: png,svg"
    )
    command.add_argument("--style", default="page", metavar="STYLE", help="page, paper or slide (default page)")
    command.add_argument("--width", metavar="WIDTH", help="of the figure: 3.3in, 84mm; default: that of the style")


def _add_table_format(command: Parser) -> None:
    command.add_argument("--format", metavar="FORMAT", help="md, csv, tex or html (default md)")
    command.add_argument("--json", action="store_true", help="print title, rows in full precision and notes as JSON")
