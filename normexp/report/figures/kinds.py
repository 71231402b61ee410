"""The kinds of figures that an experiment's YAML may name, each as a chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from normexp.evidence.curves import PROBE, Cell
from normexp.evidence.metrics import better_direction, is_share
from normexp.evidence.scales import PAPER
from normexp.experiments.figure_kinds import Against, Bars, Counts, Curves, Heat, Multiples, are_numbers
from normexp.report.figures.captions import from_to
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.choice import MOST_TICKS
from normexp.report.figures.context import FigureContext, check_known, sorted_by
from normexp.report.figures.own.lines import lines
from normexp.report.figures.own.path import contour
from normexp.report.figures.own.percentiles import percentiles
from normexp.report.figures.own.steps import steps_to_target
from normexp.report.figures.scales import MINUS, short, times_ten, value_text
from normexp.report.figures.styles import LineStyle, dark_to_light
from normexp.report.frames.measured import runs_of
from normexp.report.metrics import bad_end, factor, possible, title
from normexp.report.tables.row import MISLEADING, centre, misleads
from normexp.report.tables.table import EMPTY

ALL = "all"
MEDIAN = "median"  # in a cell of a heat map
ENDED_LAST = "Rows with a run that diverged come last."
COUNTS = ("#00695C", "#B26A00", "#A3123A", "#4B4E9C", "#555555")  # parts of a whole, from good to bad


def curves(context: FigureContext[Curves]) -> Chart:
    spec = context.spec
    data, styles = context.evaluations(spec.metric, spec.x), context.styles(list(context.runs))
    published = spec.published if context.experiment.scale == PAPER else {}
    for cell in context.runs:
        if cell.arm in published:
            name, known = context.name(cell), published[cell.arm]
            rows = {"line": f"{name}, published", "run": 0, spec.x: known[spec.x], "ended": False}
            data = pd.concat([data, pd.DataFrame({**rows, "y": factor(spec.metric) * np.array(known["value"])})])
            styles[f"{name}, published"] = replace(styles[name], dashes=(4, 2), width=1.0, marker="")
    if spec.formula:
        predicted = context.predicted()
        data = pd.concat([data, predicted.evaluations(spec.formula, spec.x).assign(ended=False).pipe(_as_formula)])
        styles |= _formula_styles(predicted, "")
    caption = " ".join(filter(None, [spec.caption, spec.published_caption if published else ""]))
    labels = {"x": context.words("x", spec.x), "y": context.value_label("y", spec.metric)}
    given: dict[str, Any] = {"colour": "line", "styles": styles, "band": "sd", "labels": labels}
    return context.chart(data, spec.metric, mark="line", x=spec.x, y="y", caption=caption, **given)


def against(context: FigureContext[Against]) -> Chart:
    spec = context.spec
    data = context.samples(spec.metric, spec.at, without=spec.axis)
    values = list(dict.fromkeys(dict(cell.point)[spec.axis] for cell in context.cells))
    numbers = are_numbers(values)
    places = {value: float(value) if numbers else float(i) for i, value in enumerate(values)}  # type: ignore[arg-type]
    data = data.assign(place=data[spec.axis].map(places))
    cells = {context.name(cell, spec.axis): cell for cell in context.runs}
    ticks = {place: value_text(value) for value, place in places.items()}
    labels = {"x": context.words("x", context.axis(spec.axis)), "y": context.value_label("y", spec.metric, spec.at)}
    styles = context.styles(list(cells.values()), spec.axis)
    if spec.formula:
        predicted = context.predicted()
        rows = predicted.samples(spec.formula, spec.at, without=spec.axis).pipe(_as_formula)
        data = pd.concat([data, rows.assign(place=rows[spec.axis].map(places))])
        styles |= _formula_styles(predicted, spec.axis)
    return context.chart(
        data, spec.metric, mark="interval", x="place", y="value", colour="line", band="ci", labels=labels,
        styles=styles, ticks=ticks if len(ticks) <= MOST_TICKS else {},
    )  # fmt: skip


def _as_formula(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(line="formula: " + data["line"])


def _formula_styles(predicted: FigureContext[Any], axis: str) -> dict[str, LineStyle]:
    """Return a dashed line without markers for each prediction, black if there is one."""
    names = list(dict.fromkeys(predicted.name(cell, axis) for cell in predicted.runs))
    dashed = [replace(style, dashes=(3, 4), width=1.0, marker="None") for style in dark_to_light(len(names))]
    return {f"formula: {name}": style for name, style in zip(names, dashed, strict=True)}


def bars(context: FigureContext[Bars]) -> Chart:
    spec = context.spec
    axis = spec.axis or ""
    data = context.samples(spec.metric, spec.at, spec.relative_to, without=axis)
    if spec.sort:
        data = _sorted(data, better_direction(spec.metric) == "higher")
    words = f"{title(spec.metric)} / that of {context.label(spec.relative_to)}" if spec.relative_to else ""
    labels = {"x": context.words("x", context.words("y", words or context.value_label("x", spec.metric, spec.at)))}
    given: dict[str, Any] = {"mark": "interval", "x": "value", "y": "line", "band": "ci", "labels": labels}
    given["sentences"] = (ENDED_LAST,) if spec.sort and data["ended"].any() else ()
    metric = "" if spec.relative_to else spec.metric
    if axis and spec.together:
        values = list(dict.fromkeys(data[axis]))
        styles = {context.point(axis, value): _style_of_part(i) for i, value in enumerate(values)}
        data = data.assign(part=[context.point(axis, value) for value in data[axis]])
        return context.chart(data, metric, colour="part", styles=styles, **given)
    if axis:
        data = data.assign(heading=[context.point(axis, value) for value in data[axis]])
        return context.chart(data, metric, group="heading", styles=context.row_styles(axis), **given)
    return context.chart(data, metric, styles=context.row_styles(), **given)


def _style_of_part(index: int) -> LineStyle:
    """Return the style of what stands together in a row: a colour and a marker of its own."""
    return LineStyle(("#333333", "#C8500A", "#0072B2", "#007A5E")[index % 4], marker="osD^"[index % 4])


def _sorted(data: pd.DataFrame, highest: bool) -> pd.DataFrame:
    """Return the rows with the best line first: those whose runs are all finite by their mean, then the others."""
    finite = data["value"].where(np.isfinite(data["value"]))
    lines = data.assign(lost=finite.isna(), mean=-finite if highest else finite).groupby("line")
    order = lines.agg({"lost": "sum", "mean": "mean"}).sort_values(["lost", "mean"], kind="stable").index
    return sorted_by(data, "line", order)


def counts(context: FigureContext[Counts]) -> Chart:
    spec = context.spec
    parts = [context.samples(name, spec.at).assign(part=context.label(name)) for name in spec.metrics]
    data = pd.concat([part.drop_duplicates("line") for part in parts], ignore_index=True)
    styles = {context.label(name): LineStyle(COUNTS[i % len(COUNTS)]) for i, name in enumerate(spec.metrics)}
    labels = {"x": context.words("x", "count")}
    return context.chart(data, mark="bar", x="value", y="line", colour="part", styles=styles, labels=labels)


def heat(context: FigureContext[Heat]) -> Chart:
    spec = context.spec
    cells = list(context.runs)
    sizes = sorted(set(map(len, context.runs.values())))
    what = f"Mean over {from_to(sizes)} runs" if sizes[-1] > 1 else ""
    if spec.metrics:
        rows = [_entry(context, c, m, context.name(c), context.words(m, title(m))) for c in cells for m in spec.metrics]
        scale = "Each column has its own scale, dark is low."
        said: dict[str, Any] = {"by_column": True, "sentences": (_averaged(what, rows), scale)}
        return context.chart(pd.DataFrame(rows), mark="heat", z="value", **said)
    assert spec.metric is not None
    assert spec.axis is not None
    columns = {cell: context.label(str(dict(cell.point)[spec.axis])) for cell in cells}
    rows = [_entry(context, cell, spec.metric, context.name(cell, spec.axis), columns[cell]) for cell in cells]
    over = f" / that of {context.label(spec.relative_to)}" if spec.relative_to else ""
    labels = {"x": context.words("x", context.axis(spec.axis)), "z": context.words("z", title(spec.metric) + over)}
    averaged = (_averaged(what, rows),)
    return context.chart(pd.DataFrame(rows), mark="heat", z="value", labels=labels, sentences=averaged)


def _averaged(what: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return a sentence on what the numbers of a heat map are."""
    others = any(MEDIAN in str(row["text"]) for row in rows)
    return f"{what}{f'; {MEDIAN}: {MISLEADING}' * others}." if what else ""


def _entry(context: FigureContext[Heat], cell: Cell, metric: str, row: str, column: str) -> dict[str, object]:
    """Return one cell: the centre of the finite values, as the table has it, and how many others there are."""
    values = context.values(cell, metric, context.spec.at, context.spec.relative_to)
    finite = [value for value in values.values() if math.isfinite(value)]
    lost = [seed for seed, value in values.items() if not math.isfinite(value)]
    diverged = sum(context.runs[cell][seed].diverged for seed in lost)
    if not finite:
        text = "diverged" if diverged else "∞" if math.inf in values.values() else EMPTY
        return {"x": column, "y": row, "value": math.nan, "text": text}
    middle = centre(finite)
    text = f"{middle:.1f}" if is_share(metric) and not context.spec.relative_to else _digits(middle)
    text += f"\n{MEDIAN}" * misleads(finite)
    if lost:
        count = f"{diverged} of {len(values)} diverged"
        text += f"\n{count if diverged == len(lost) else f'{len(finite)} of {len(values)} finite'}"
    return {"x": column, "y": row, "value": middle, "text": text}


def _digits(value: float) -> str:
    """Write three digits, or two and a power: 0.142, 73.0, 13,500, 4.0×10⁻⁸."""
    if 1e-3 <= abs(value) < 999.5:
        return f"{value:#.3g}".rstrip(".").replace("-", MINUS)
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return short(value, 3)
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return times_ten(mantissa, int(exponent))


def multiples(context: FigureContext[Multiples]) -> Chart:
    spec, there = context.spec, dict.fromkeys(_probed(context))
    if not there:
        raise context.error("no probe measured anything in its runs; run them with a probe")
    for statistic in spec.statistic:
        check_known(context.where, "statistic", statistic, list(dict.fromkeys(name for _, name in there)))
    layers = _layers(context, [layer for layer, name in there if name in spec.statistic])
    parts, panels = [], {}
    for statistic in spec.statistic:
        for layer in (each for each in layers if (each, statistic) in there):
            data = context.evaluations(f"{PROBE}{layer}/{statistic}").assign(layer=context.label(layer))
            across = data["layer"] if spec.panels == "layer" else data["line"]
            parts.append(data.assign(panel=statistic + " " + across))
            for name in dict.fromkeys(across):
                panels[f"{statistic} {name}"] = Panel(
                    name, context.label(statistic), possible(statistic), bad_end(statistic)
                )
    both = sorted_by(pd.concat(parts, ignore_index=True), "panel", panels)
    by_arm = spec.panels == "arm"
    names = [context.label(layer) for layer in layers]
    styles = dict(zip(names, dark_to_light(len(names)), strict=True)) if by_arm else context.styles(list(context.runs))
    return context.chart(
        both, mark="line", x="step", y="y", colour="layer" if by_arm else "line", panel="panel", panels=panels,
        band="sd", styles=styles, labels={"x": context.words("x", "step")},
    )  # fmt: skip


def _probed(context: FigureContext[Any]) -> Iterator[tuple[str, str]]:
    """Yield (layer, statistic) of everything that a probe measured in these runs."""
    names = (name for run in runs_of(context.runs) for name in run.columns)
    for name in names:
        if name.startswith(PROBE):
            layer, _, statistic = name.removeprefix(PROBE).rpartition("/")
            yield layer, statistic


def _layers(context: FigureContext[Multiples], known: Sequence[str]) -> Sequence[str]:
    """Return the layers to show. Raises UserError for one that is none of those with a statistic of the figure."""
    known = list(dict.fromkeys(known))
    for layer in context.spec.layers:
        if layer != ALL:
            check_known(context.where, "layer", layer, [ALL, *known])
    return known if ALL in context.spec.layers else context.spec.layers


KINDS: dict[str, Callable[[FigureContext[Any]], Chart]] = {
    "curves": curves,
    "against": against,
    "bars": bars,
    "counts": counts,
    "heat": heat,
    "multiples": multiples,
    "lines": lines,
    "percentiles": percentiles,
    "steps_to_target": steps_to_target,
    "contour": contour,
}
