"""Experiments made up for figures: arms, a grid, and runs whose curves, probes and tables are known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fabricated import Fabric
from matplotlib.figure import Figure
from matplotlib.text import Text
from parsed import parse
from pydantic import TypeAdapter
from sound_experiment import HEAD

from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.figure_kinds import FigureSpec
from normexp.experiments.tables import Published, PublishedOnly, Table
from normexp.records import PROBES, RunDirectory
from normexp.report.drawing import Drawn
from normexp.report.figures.captions import caption
from normexp.report.figures.chart import Chart
from normexp.report.figures.drawn import drawn
from normexp.report.figures.experiments import charts
from normexp.report.figures.formats import settings, theme
from normexp.report.figures.picture import draw
from normexp.report.frames.measured import Measured, read_measured

BASE: dict[str, Any] = {
    **HEAD,
    "grid": {"seed": [0, 1, 2]},
    "scales": {"smoke": None, "cpu": None, "paper": None},
    "table": {"metric": "test/accuracy"},
    "deviations": ["It is made up"],
}
Rows = Sequence[Mapping[str, object]]
FIGURE: TypeAdapter[Any] = TypeAdapter(FigureSpec)
TYPES: dict[str, TypeAdapter[Any]] = {
    "table": TypeAdapter(Table),
    "published": TypeAdapter(list[Published]),
    "published_only": TypeAdapter(list[PublishedOnly]),
    "figures": TypeAdapter(list[FigureSpec]),
}


@dataclass
class Made:
    """One made-up experiment.

    Args:
        statuses: of runs that are not done, by arm and seed.
        read: what the runs have recorded, once somebody asked for it; None after others were written.
    """

    fabric: Fabric
    experiment: Experiment
    statuses: dict[tuple[str, int], str] = field(default_factory=dict)
    read: Measured | None = None

    def run(self, table: Callable[[str, dict[str, Any], np.random.Generator], list[dict[str, object]]]) -> None:
        """Write every run; `table` gives the rows of metrics.csv of an arm at a point of the grid."""
        self.read = None
        for i, (arm, point, run) in enumerate(self.places()):
            content = table(arm, point, np.random.default_rng(i))
            self.fabric(
                name=str(run.path.relative_to(self.fabric.root)),
                table=content,
                columns=list(dict.fromkeys(key for row in content for key in row)),
                status=self.statuses.get((arm, point["seed"]), "done"),
                **self.experiment.settings(arm, tuple(point.items())),
            )

    def places(self) -> list[tuple[str, dict[str, Any], RunDirectory]]:
        return [
            (arm, dict(point), RunDirectory(run_place(self.fabric.root, self.experiment, arm, point)))
            for arm in self.experiment.arms
            for point in self.experiment.points()
        ]

    def tables(self, name: str, make: Callable[[str, int], Rows]) -> None:
        """Write NAME.csv beside every run; `make` gives its rows for an arm and a seed."""
        self.read = None
        for arm, point, run in self.places():
            rows = make(arm, point["seed"])
            lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)]
            (run.path / f"{name.removesuffix('.csv')}.csv").write_text("\n".join(lines) + "\n")

    def probes(self, make: Callable[[str, int], Rows]) -> None:
        self.tables(PROBES, make)

    def chart(self, **spec: Any) -> Chart:
        figures = replace(self.experiment, figures=[FIGURE.validate_python({"name": "x", **spec})])
        self.read = self.read or read_measured(self.experiment, self.fabric.root)
        return charts(figures, self.read, ())["x"]

    def figure(self, **spec: Any) -> Figure:
        with settings(theme()):
            return draw(self.chart(**spec), theme())

    def caption(self, **spec: Any) -> str:
        return caption(self.chart(**spec))

    def draw(self, **spec: Any) -> Drawn:
        return drawn("x", self.chart(**spec), theme(), ["svg"])


def made(fabric: Fabric, scale: str = "cpu", **changes: Any) -> Made:
    """Return an experiment with other arms or another grid."""
    typed = {key: TYPES[key].validate_python(value) if key in TYPES else value for key, value in changes.items()}
    return Made(fabric, replace(parse("x", scale, BASE), **typed))


def learning(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
    """Return a run that learns, at its own speed and to its own end."""
    speed, end = random.uniform(0.02, 0.1), random.uniform(0.85, 0.99)
    rows = []
    for step in range(0, 101, 10):
        done = 1 - np.exp(-speed * step)
        loss = 2.3 * np.exp(-speed * step) * random.uniform(0.5, 1.5) + 1e-4
        accuracy = 0.1 + (end - 0.1) * done
        rows.append({"step": step, "epoch": step / 20, "test/loss": float(loss), "test/accuracy": float(accuracy)})
    return rows


def texts(figure: Figure) -> Iterator[Text]:
    """Yield every text that is seen."""
    if figure._suptitle is not None:  # type: ignore[attr-defined]
        yield figure._suptitle  # type: ignore[attr-defined]
    for legend in [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]:
        yield from legend.get_texts()
    for axes in figure.axes:
        if not axes.axison:
            continue
        yield from (text for text in axes.texts if text.get_text() != "preview")
        yield axes._left_title  # type: ignore[attr-defined]
        for side, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            yield side.label
            inside = [min(ends) <= place <= max(ends) for place in side.get_majorticklocs()]
            yield from (text for text, seen in zip(side.get_ticklabels(), inside, strict=True) if seen)


def assert_clean(figure: Figure) -> None:
    """No text overlaps another one or is cut, at the resolution of the files."""
    figure.set_dpi(200)
    figure.canvas.draw()
    shown = [text for text in texts(figure) if text.get_text() and text.get_visible()]
    boxes = [text.get_window_extent().padded(-1) for text in shown]
    page = figure.bbox
    for i, (text, box) in enumerate(zip(shown, boxes, strict=True)):
        assert page.x0 <= box.x0 < box.x1 <= page.x1, text
        assert page.y0 <= box.y0 < box.y1 <= page.y1, text
        for other, before in zip(shown[:i], boxes[:i], strict=True):
            assert not box.overlaps(before), (text, other)
