"""What a figure of an experiment is made from: its entry in the YAML, and everything that was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import pandas as pd

from normexp.errors import UserError, unknown
from normexp.evidence.curves import Cell, Curve
from normexp.evidence.scales import SMOKE
from normexp.experiments.experiment import Experiment, product
from normexp.experiments.figure import Figure
from normexp.records import RunDirectory
from normexp.report.figures.chart import WHOLE, Chart, Panel, Range, Reference
from normexp.report.figures.scales import value_text
from normexp.report.figures.styles import LineStyle, dark_to_light, distinct, of_arms, of_scheme
from normexp.report.figures.words import called, of_arm, of_key
from normexp.report.frames.measured import Measured
from normexp.report.frames.record import Record
from normexp.report.metrics import bad_end, factor, possible, title
from normexp.report.ratios import ratios

MOST = 12  # arms whose rows have colours
Spec = TypeVar("Spec", bound=Figure)


@dataclass(frozen=True)
class FigureContext(Generic[Spec]):
    """What a figure of an experiment is made from.

    Args:
        spec: the entry of `figures`.
        notes: sentences about every figure of the experiment; those about data are added for the arms shown.
    """

    experiment: Experiment
    measured: Measured
    spec: Spec
    notes: Sequence[str] = ()

    def error(self, text: str) -> UserError:
        return UserError(f"{self.where}: {text}")

    @property
    def where(self) -> str:
        return f"experiment {self.experiment.name}: figure {self.spec.name}"

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that the figure is about, finished or not, in the order of the arms."""
        arms = self.spec.arms or list(self.experiment.arms)
        cells = [Cell(arm, point) for arm in arms for point in product(self.experiment.axes)]
        fixed = self.spec.where.items()
        return [cell for cell in cells if all(dict(cell.point)[axis] == value for axis, value in fixed)]

    @cached_property
    def runs(self) -> dict[Cell, Mapping[int, Curve]]:
        """The finished runs. Raises UserError where there are none."""
        runs = {cell: self.measured.curves[cell] for cell in self.cells if cell in self.measured.curves}
        if not runs:
            raise self.error("no run of its arms is finished")
        return runs

    @property
    def unfinished(self) -> str:
        """How many of the figure's runs are trained, in words; empty where all are."""
        finished = [record.finished for record in self.measured.records if record.cell in self.cells]
        return "" if all(finished) else f"not all trained yet: {sum(finished)} of {len(finished)} runs"

    def predicted(self) -> FigureContext[Spec]:
        """Return the context of the first arm alone: the one whose formula a figure draws."""
        arms = [next(iter(self.runs)).arm]
        return replace(self, spec=self.spec.model_copy(update={"arms": arms}))

    def name(self, cell: Cell, without: str = "") -> str:
        """Return what tells a cell apart in this figure: its arm, unless there is one only, and the open axes.

        Args:
            without: an axis that the figure shows otherwise.
        """
        open_axes = [(axis, value) for axis, value in cell.point if axis not in (*self.spec.where, without)]
        point = [self.point(axis, value) for axis, value in open_axes]
        alone = len({each.arm for each in self.cells}) == 1 and point
        return ", ".join([*([] if alone else [self.label(cell.arm)]), *point])

    def point(self, axis: str, value: object) -> str:
        """Return what a value of an axis of the grid is called."""
        text = value_text(value)
        usual = called(axis, text) or f"{self.axis(axis)} {self.label(text)}"
        return self.spec.labels.get(f"{axis}={value}", usual)

    @property
    def title(self) -> str:
        """The figure's own title, or the experiment's with the point of the grid and the one arm that it shows."""
        arms = [self.label(arm) for arm in self.spec.arms] if len(self.spec.arms) == 1 else []
        point = [self.point(axis, value) for axis, value in self.spec.where.items()]
        return self.spec.title or ", ".join([self.experiment.title, *arms, *point])

    def label(self, name: str) -> str:
        """Return what `labels` calls an arm, an axis, a column or a layer; otherwise its name in words."""
        if name not in self.experiment.arms:
            return self.spec.labels.get(name, name.replace("_", " "))
        text = self._arm(name)
        return f"{text[:1].upper()}{text[1:]}" if self._has_capitals else text

    def _arm(self, name: str) -> str:
        return self.spec.labels.get(name, of_arm(name))

    @cached_property
    def _has_capitals(self) -> bool:
        """Whether an arm is called by a name, as Batch norm or SGD are: then the others begin with a capital, too."""
        return any(self._arm(name)[:1].isupper() for name in self.experiment.arms)

    def axis(self, key: str) -> str:
        """Return what an axis of the grid is called: without its group, unless `labels` says otherwise."""
        return self.spec.labels.get(key) or self.spec.labels.get(key.rpartition(".")[2]) or of_key(key)

    def words(self, axis: str, usual: str) -> str:
        """Return what stands at an axis."""
        return self.spec.labels.get(axis, usual)

    @cached_property
    def records(self) -> dict[tuple[Cell, int | None], Record]:
        """Every run of the experiment, whatever its status, by cell and seed."""
        return {(record.cell, record.seed): record for record in self.measured.records}

    @property
    def data_notes(self) -> list[str]:
        """What the data of these arms say of themselves."""
        first = [self.records[cell, next(iter(seeds))].directory for cell, seeds in self.runs.items()]
        notes = {run.data.get("note") or "" for run in first}
        return [f"Data: {note}." for note in sorted(notes - {""})]

    def one_seed(self, seed: int | None) -> dict[Cell, RunDirectory]:
        """Return the run of a seed, by default the grid's first one, for every cell where it is finished.

        Raises: UserError where it is not finished in any cell.
        """
        seed = self.experiment.grid["seed"][0] if seed is None else seed
        runs = {cell: self.records[cell, seed] for cell in self.cells if (cell, seed) in self.records}
        finished = {cell: run.directory for cell, run in runs.items() if run.finished}
        if not finished:
            raise self.error(f"no run with seed {seed} is finished")
        return finished

    def values(self, cell: Cell, metric: str, at: str, over: str | None = None) -> dict[int, float]:
        """Return seed -> value in the unit of the axis, not finite for a diverged run; {} where the runs end before.

        Args:
            over: an arm whose value at the same point with the same seed divides this one's.
        """
        own = {seed: factor(metric) * value for seed, value in self.measured.values(cell, metric, at).items()}
        return ratios(own, self.values(Cell(over, cell.point), metric, at)) if over else own

    def evaluations(self, metric: str, x: str = "step") -> pd.DataFrame:
        """Return what every run of the figure measured: columns line, run, x, y, ended; a row per evaluation."""
        parts = [
            pd.DataFrame(
                {
                    "line": self.name(cell),
                    "run": seed,
                    x: self._epochs(cell, seed) if x == "epoch" else run.step,
                    "y": factor(metric) * run.column(metric),
                    "ended": run.diverged,
                }
            )
            for cell, runs in self.runs.items()
            for seed, run in runs.items()
        ]
        return pd.concat(parts, ignore_index=True)

    def _epochs(self, cell: Cell, seed: int) -> list[float]:
        columns = self.records[cell, seed].columns
        if "epoch" not in columns:
            raise self.error("x=epoch: its runs record no epoch; allowed: step")
        return columns["epoch"]

    def samples(self, metric: str, at: str, over: str | None = None, without: str = "") -> pd.DataFrame:
        """Return one value per run: columns cell, line, run, value, ended, and the axes of the grid."""
        rows: list[dict[str, Any]] = [
            {
                **dict(cell.point), "cell": cell, "line": self.name(cell, without), "run": seed, "value": value,
                "ended": self.runs[cell][seed].diverged,
            }
            for cell in self.runs
            for seed, value in self.values(cell, metric, at, over).items()
        ]  # fmt: skip
        if not rows:
            raise self.error(f"its runs have no {metric} at {at}")
        return pd.DataFrame(rows)

    def styles(self, cells: Sequence[Cell], without: str = "") -> dict[str, LineStyle]:
        """Return the style of every line by its name; several lines of one arm go from dark to light."""
        names = [self.name(cell, without) for cell in cells]
        arms = {cell.arm for cell in cells}
        if len(arms) == 1 and len(cells) > 1:
            return dict(zip(names, dark_to_light(len(cells)), strict=True))
        if not self._has_schemes:
            return {name: distinct(i) for i, name in enumerate(names)}
        return of_arms({name: self.scheme(cell.arm) for name, cell in zip(names, cells, strict=True)})

    def row_styles(self, without: str = "") -> dict[str, LineStyle]:
        """Return the colours of rows, which their names tell apart; {} where they would say nothing or too much."""
        schemes = {self.scheme(cell.arm) for cell in self.runs}
        colors = {of_scheme(scheme).color for scheme in schemes}
        if not self._has_schemes or len(colors) < len(schemes) or len(schemes) == 1 or len(self.experiment.arms) > MOST:
            return {}
        return {self.name(cell, without): replace(of_scheme(self.scheme(cell.arm)), marker="o") for cell in self.runs}

    @property
    def _has_schemes(self) -> bool:
        """Whether arms name a scheme; without one their colours are their own."""
        return "norm" in self.experiment.common or any("norm" in arm for arm in self.experiment.arms.values())

    def scheme(self, arm: str) -> str:
        return str(self.experiment.arms[arm].get("norm", self.experiment.common.get("norm", "none")))

    def chart(self, data: pd.DataFrame, metric: str = "", **given: Any) -> Chart:
        """Return a chart with what every figure has: title, captions, limits, references, zoom."""
        limits = self.window(self.spec.limits, metric)
        panels = given.pop("panels", None) or {"": Panel()}
        panels = {name: self._panel(panel, limits, metric) for name, panel in panels.items()}
        zoom = self.window(getattr(self.spec, "zoom", {}), metric)
        if zoom:
            data, panels = _zoomed(data, panels[""], zoom)
            given |= {"panel": "part", "share_y": "none"}
        caption = given.pop("caption", self.spec.caption)
        return Chart(
            data,
            log=frozenset(getattr(self.spec, "log", ())),
            title=self.title,
            panels=panels,
            references=tuple(
                Reference(self._unit(each.axis, metric) * each.at, each.text, each.axis) for each in self.spec.reference
            ),
            preview=self.experiment.scale == SMOKE,
            unfinished=self.unfinished,
            sentences=(caption, *given.pop("sentences", ())),
            notes=(*self.notes, *self.data_notes),
            **given,
        )

    def window(self, windows: Mapping[Any, Mapping[Any, tuple[float, float]]], metric: str) -> dict[str, Range]:
        """Return {axis: ends} at this scale, in the unit of the axis."""
        here = windows.get(self.experiment.scale, {})
        units = {axis: self._unit(axis, metric) for axis in here}
        return {axis: (units[axis] * low, units[axis] * high) for axis, (low, high) in here.items()}

    def _unit(self, axis: str, metric: str) -> float:
        """Return by what a value on an axis is multiplied to be shown: rows have those of the metric on x."""
        return factor(metric) if axis == "y" or "y" not in self.spec.numbered else 1.0

    def _panel(self, panel: Panel, limits: Mapping[str, Range], metric: str) -> Panel:
        known = replace(panel, possible=possible(metric), worst=bad_end(metric)) if metric else panel
        return replace(known, x=limits.get("x"), y=limits.get("y"))

    def value_label(self, axis: str, metric: str, at: str = "last") -> str:
        """Return the words for a metric: those of `labels`, or its name with its unit and where it was looked at."""
        usual = title(metric) + ("" if at == "last" else f", {at}")
        return self.words(axis, self.spec.labels.get(metric, usual))


def _zoomed(data: pd.DataFrame, whole: Panel, zoom: Mapping[str, Range]) -> tuple[pd.DataFrame, dict[str, Panel]]:
    """Return the data twice, in a panel with everything and one that shows a part of it larger."""
    part = replace(whole, title="enlarged", x=zoom.get("x", whole.x), y=zoom.get("y", whole.y))
    both = pd.concat([data.assign(part=WHOLE), data.assign(part="part")], ignore_index=True)
    return both, {WHOLE: whole, "part": part}


def sorted_by(data: pd.DataFrame, column: str, names: Iterable[str]) -> pd.DataFrame:
    """Return the rows in the order of the names in a column; those with one name stay in theirs."""
    ordered = data.assign(**{column: pd.Categorical(data[column], list(names))})
    return ordered.sort_values(column, kind="stable").astype({column: str})


def check_known(where: str, kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise unknown(f"{where}: {kind}", name, known)
