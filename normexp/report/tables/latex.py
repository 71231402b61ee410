r"""A table as LaTeX floats that need booktabs and graphicx alone, fit their page and can be read there.

Heads are broken into lines. What is wider than the text is made smaller, as long as it can be read: beyond that, and
beyond the height of a page, the table goes on in a second float, with the names of its rows again.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from unicodedata import lookup

from normexp.report.tables.table import Table, one_line

GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "mu", "rho", "sigma", "tau")
_SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
        "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "↑": r"$\uparrow$", "∞": r"$\infty$",
        "↓": r"$\downarrow$", "[": "{[}", "]": "{]}",  # a row that starts with [ would be an argument of \\
        "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\to$", "\N{MINUS SIGN}": "-",
        "\N{GREEK SMALL LETTER LAMDA}": r"$\lambda$",
        **{lookup(f"GREEK SMALL LETTER {each}"): rf"$\{each}$" for each in GREEK},
    }
)  # fmt: skip
_FOREIGN = re.compile("[^\x00-\x7f\xa0-\u017e\u2013\u2014\u2018\u2019\u201c\u201d…€™]|[«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲų]")
"""Signs of which pdflatex has none without a package more: it would stop there."""
NARROW = 0.9  # what a table's width may be of what its letters take here: then it is made less small, and higher
HEAD = 13  # letters of a line of a head
LETTER, GAP, ROW = 5.0, 12.0, 12.2  # points that a letter, the space between columns and a row take, at 10 points
TEXT, WIDEST = 345.0, 640.0  # points: the text of the class article, a table before it is fitted
HIGHEST = 400.0  # points: at 12 points rows are a fifth higher, the page is not, and it has a caption


def latex(table: Table) -> str:
    r"""Return table environments no wider than the text; the document needs booktabs and graphicx."""
    parts = list(_parts(table))
    floats = [line for i, part in enumerate(parts) for line in _float(part, i, len(parts))]
    return "\n".join([r"% needs \usepackage{booktabs,graphicx}", *_told(table), *floats, *_notes(table)]) + "\n"


def _told(table: Table) -> Iterator[str]:
    """Yield a comment that says which signs stand by their code."""
    text = " ".join([table.title, *table.heads, *(text for row in table.rows for text in row)])
    if found := dict.fromkeys(_FOREIGN.findall(one_line(text).translate(_SIGNS))):
        meant = ", ".join(f"{_code(sign)} is {sign}" for sign in found)
        yield f"% signs that pdflatex lacks stand by their code: {meant}"


def _code(sign: str) -> str:
    return f"U+{ord(sign):04X}"


def _parts(table: Table) -> Iterator[Table]:
    """Yield the tables that fit a page each."""
    for low, high in _columns(table):
        columns = [*range(table.texts), *range(low, high)]
        scale = min(1.0, TEXT / (NARROW * sum(_width(table, i) for i in columns)))
        most = int(HIGHEST / (ROW * scale))  # of the rows, if the columns are as narrow as they may be
        count = max(len(table.rows), 1)
        most = -(-count // -(-count // most))  # in as few parts, about equally high
        for first in range(0, count, most):
            rows = [[row[i] for i in columns] for row in table.rows[first : first + most]]
            yield replace(table, heads=[table.heads[i] for i in columns], rows=rows)


def _columns(table: Table) -> Iterator[tuple[int, int]]:
    """Yield the columns of every part, from one up to another: as few parts as fit, about equally wide."""
    widths = [_width(table, i) for i in range(len(table.heads))]
    names, numbers = sum(widths[: table.texts]), widths[table.texts :]
    room = max([WIDEST - names, *numbers])
    ends = _ends(numbers, room)
    while room > max(numbers, default=room) and len(_ends(numbers, room - 1)) == len(ends):
        room -= 1
    yield from pairwise(table.texts + end for end in (0, *_ends(numbers, room)))


def _ends(widths: Sequence[float], room: float) -> list[int]:
    """Return where each part ends if every one takes the columns that it has room for."""
    ends, so_far = [], 0.0
    for i, width in enumerate(widths):
        if so_far and so_far + width > room:
            ends.append(i)
            so_far = 0.0
        so_far += width
    return [*ends, len(widths)]


def _width(table: Table, column: int) -> float:
    """Return how many points a column takes, about."""
    head = max(map(len, _broken(table.heads[column])), default=0)
    return GAP + LETTER * max([head, *(len(row[column]) for row in table.rows)])


def _float(table: Table, number: int, parts: int) -> Iterator[str]:
    title = table.title if parts == 1 else f"{table.title} Part {number + 1} of {parts}."
    label = f"tab:{table.label}" + (f"-{number + 1}" if number else "")
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{_text(title)}}}\label{{{label}}}", r"\vspace{0.5em}")
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    sides = ["l" if table.holds_text(i) else "r" for i in range(len(table.heads))]
    yield rf"\begin{{tabular}}{{{''.join(sides)}}}"
    heads = list(map(_head, table.heads, sides))
    yield from (r"\toprule", " & ".join(heads) + r" \\", r"\midrule", *map(_row, table.rows), r"\bottomrule")
    yield from (r"\end{tabular}}", r"\end{table}")


def _head(text: str, side: str) -> str:
    lines = [_text(line) for line in _broken(text)]
    together = r"\\".join(lines)
    return rf"\shortstack[{side}]{{{together}}}" if len(lines) > 1 else together


def _broken(text: str) -> list[str]:
    """Return the lines of a head; a percent sign stays with its number."""
    whole = one_line(text).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(whole, HEAD, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _row(line: Sequence[str]) -> str:
    """Return one row; the minus of a number is a minus, not a hyphen, and 1.2e-04 has a power of ten."""
    return " & ".join(_number(_text(text)) for text in line) + r" \\"


def _number(text: str) -> str:
    text = re.sub(r"(?<![\w.])-(?=[\d$])", "$-$", text)
    return re.sub(r"(?<=[\d)}])e([+-]\d+)\b", lambda found: rf"$\cdot10^{{{int(found[1])}}}$", text)


def _text(text: str) -> str:
    return _FOREIGN.sub(lambda sign: _code(sign[0]), one_line(text).translate(_SIGNS))


def _notes(table: Table) -> Iterator[str]:
    """Yield the notes as comments: a float has no room for them, and what a paper quotes is its author's choice."""
    yield from [f"% {one_line(table.source)}"] if table.source else []
    for heading, notes in table.notes.items():
        for note in notes:
            text = " ".join(f"{heading}: {note}".removeprefix(": ").split())
            yield f"% {text}"
