"""A table as Markdown, CSV, LaTeX (booktabs) and HTML. Equal tables give equal bytes."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from typing import Protocol

from normexp.records import cell
from normexp.report.tables import Row, Table

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
        "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "↑": r"$\uparrow$",
        "↓": r"$\downarrow$", "[": "{[}",  # a row that starts with [ would be read as an argument of \\
    }
)  # fmt: skip

_STYLE = (
    "body{font:14px/1.5 sans-serif;margin:2em;color:#222}table{border-collapse:collapse;border:solid #222;"
    "border-width:1.5px 0}caption{text-align:left;max-width:60em;padding-bottom:.6em}"
    "th{border-bottom:1px solid #222}th,td{padding:.2em .9em;text-align:right}"
    "td{font-variant-numeric:tabular-nums}.text{text-align:left}p{color:#555;margin:.4em 0;max-width:60em}"
)


class Printable(Protocol):
    """What a table must tell of itself to be printed; the first columns, `places` and one more, are text."""

    @property
    def places(self) -> tuple[str, ...]: ...
    @property
    def headers(self) -> list[str]: ...
    @property
    def cells(self) -> list[list[str]]: ...
    @property
    def caption(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


def markdown(table: Printable) -> str:
    """Return a GitHub table, its columns padded so that it reads in a terminal too."""
    lines = [[_markdown(text) for text in line] for line in (table.headers, *table.cells)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table.headers))]
    left = len(table.places) + 1
    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    padded = [[_pad(text, widths[i], i < left) for i, text in enumerate(line)] for line in lines]
    rows = [f"| {' | '.join(line)} |" for line in (padded[0], rule, *padded[1:])]
    footnotes = [f"- {_markdown(note)}" for note in table.notes]
    return "\n".join([_markdown(table.caption), "", *rows, *([""] if footnotes else []), *footnotes]) + "\n"


def csv_text(table: Table) -> str:
    """Return plain columns in full precision: accuracies are fractions, an empty cell is no value."""
    columns = [f"{name.replace('/', '_')}_{part}" for name in table.metrics for part in ("mean", "sd")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["dataset", "model", "norm", "arm", "seeds", "converged", *columns])
    writer.writerows([*_plain(row), *_numbers(row)] for row in table.rows)
    return out.getvalue()


def latex(table: Printable) -> str:
    r"""Return a table environment; the document needs \usepackage{booktabs}."""
    left = len(table.places) + 1
    rows = [" & ".join(map(_latex, line)) + r" \\" for line in table.cells]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(table.caption)}}}",
        rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(table.headers) - left)}}}",
        r"\toprule",
        " & ".join(map(_latex, table.headers)) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip\footnotesize {_latex(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def html_page(table: Printable) -> str:
    """Return one self-contained page: no script, nothing fetched."""
    left = len(table.places) + 1
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>normexp table</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<table><caption>{html.escape(table.caption)}</caption>",
        f"<thead>{_html_row('th', table.headers, left)}</thead>",
        "<tbody>",
        *(_html_row("td", line, left) for line in table.cells),
        "</tbody></table>",
        *(f"<p>{html.escape(note)}</p>" for note in table.notes),
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {"md": markdown, "csv": csv_text, "tex": latex, "html": html_page}


def _pad(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def _markdown(text: str) -> str:
    """Escape what Markdown would read as markup; an underscore inside a word is none."""
    return re.sub(r"([\\|<>*`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", text)


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _html_row(tag: str, line: list[str], left: int) -> str:
    kinds = [' class="text"' if i < left else "" for i in range(len(line))]
    cells = (f"<{tag}{kind}>{html.escape(text)}</{tag}>" for kind, text in zip(kinds, line, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _plain(row: Row) -> list[str]:
    arm = row.arm
    return [arm.dataset, arm.model, arm.norm, arm.label, str(len(arm.runs)), str(len(arm.converged))]


def _numbers(row: Row) -> list[str]:
    return [cell(number) for value in row.values for number in (value.mean, value.standard_deviation)]
