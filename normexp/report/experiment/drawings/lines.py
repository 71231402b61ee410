"""Columns of a table that the runs wrote, as lines: spectra, paths of convergence, learned functions, constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from normexp.errors import unknown
from normexp.evidence.curves import Cell
from normexp.report.colors import Look
from normexp.report.experiment.drawings.behind import Behind
from normexp.report.experiment.drawings.frame import Room
from normexp.report.experiment.drawings.ordered import DOTTED, dashed, sequence
from normexp.report.experiment.drawings.panels import Line, Panel, Scales, line_figure
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.experiment.drawings.tables import Table, tables

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Key:
    """Which line of a table: a column, and the value of `by` whose rows it goes through."""

    column: str
    by: str | None


@dataclass(frozen=True)
class Columns:
    """The lines of a panel.

    Args:
        found: the tables of the panel's arms.
        keys: the lines of every arm, the same in all panels.
    """

    subject: Subject
    found: Mapping[Cell, Table]
    keys: Sequence[Key]

    @property
    def lines(self) -> list[Line]:
        return [
            Line(self._text(cell, key), self._look(cell, key), *self._through(table, key))
            for cell, table in self.found.items()
            for key in self.keys
        ]

    def _through(self, table: Table, key: Key) -> tuple[Numbers, Numbers]:
        x, y = table.numbers(self.subject.spec["x"]), table.numbers(key.column)
        if key.by is None:
            return x, y
        chosen = np.array([text == key.by for text in table.texts(self.subject.spec["by"])])
        return x[chosen], y[chosen]

    def _text(self, cell: Cell, key: Key) -> str:
        """Name a line by what tells it apart: arm, column, value of `by`; nothing where it is alone in its panel."""
        label = self.subject.label
        parts = [self.subject.name(cell)] if len(self.found) > 1 else []
        parts += [label(key.column)] if len({each.column for each in self.keys}) > 1 else []
        parts += [f"{label(self.subject.spec['by'])} {key.by}"] if key.by is not None else []
        return ", ".join(parts)

    def _look(self, cell: Cell, key: Key) -> Look:
        """Lines of several arms have the arms' colours and dashes by column; those of one arm go from dark to light."""
        place = list(self.keys).index(key)
        look = self.subject.looks_of(list(self.found))[cell]
        if len(self.found) > 1 and len(self.keys) > 1:
            look = dashed(look, place)
        elif len(self.keys) > 1:
            look = sequence(len(self.keys))[place]
        return Look(look.color, DOTTED, look.marker) if key.column in self.subject.named("dotted") else look


def lines(subject: Subject) -> Figure:
    found = tables(subject)
    keys = _keys(subject, found)
    boxes, points = (tables(subject, key) if key in subject.spec else {} for key in ("boxes", "points"))
    apart = subject.spec.get("panels") == "arm"
    panels = []
    for group in [{cell: table} for cell, table in found.items()] if apart else [found]:
        behind = Behind(subject, _of(group, boxes), _of(group, points))
        title = next((subject.name(cell), subject.color(cell)) for cell in group) if apart else ("", "black")
        panels.append(Panel(Columns(subject, group, keys).lines, *title, behind=behind.draw, also=behind.reach))
    columns = subject.named("y")
    y_label = subject.label("y", subject.label(columns[0]) if len(columns) == 1 else "value")
    scales = Scales(subject.label("x", subject.spec["x"]), y_label)
    return line_figure(subject, panels, scales, subject.captions(), Room())


def _of(group: Mapping[Cell, Table], others: Mapping[Cell, Table]) -> dict[Cell, Table]:
    return {cell: others[cell] for cell in group if cell in others}


def _keys(subject: Subject, found: Mapping[Cell, Table]) -> list[Key]:
    """Return every line there is in some table. Raises UserError where `dotted` names no column of `y`."""
    columns, by = subject.named("y"), subject.spec.get("by")
    for column in subject.named("dotted"):
        if column not in columns:
            raise unknown(f"{subject.where}: dotted", column, columns)
    groups = dict.fromkeys(text for table in found.values() for text in table.texts(by)) if by else {None: None}
    return [Key(column, group) for column in columns for group in groups]
