"""The figures of an experiment: one entry of `figures` in its YAML is one figure, one kind of figure is one file.

Keys of every kind
    name        of the files NAME.png and NAME.svg
    kind        one of those below
    caption     sentences under the figure; what lines and marks mean is added
    arms        list of the arms to show, by default all
    where       {AXIS: VALUE}: only these points of the grid
    labels      {x: ..., y: ..., z: ...}: what stands at an axis, with its unit; also {COLUMN: ...}, in legends
    log         list of the logarithmic axes
    limits      [LOW, HIGH] of the values, or {x: [LOW, HIGH], y: ...}, both at paper scale; or {SCALE: one of these}
Kinds that read metrics.csv, all seeds. `at` is last | best | mean | step N, `axis` a key of the grid
    curves           metric; x: step | epoch; published: {ARM: {step or epoch: [...], value: [...]}}
                     a line per arm with its band, which goes from the lowest to the highest seed on a log axis
    steps_to_target  metric, target: number | best of ARM; better: higher | lower; log: [x]
                     a dot per seed, a bar at the median; what never gets there stands in a column of its own
    against          metric, axis; at; log: [x, y]
                     a line per arm over the axis with 95 % intervals; above, how many runs converged
    bars             metric; at; axis: of the groups; log: [x], the axis of the metric
                     a row per arm: mean, 95 % interval, a dot per seed
    heat             metric and axis, or metrics: [...]; at; log: [z]
                     the number of every arm (rows) at every value of the axis, or of every metric (columns)
Kinds that read probes.csv
    percentiles      layer; what probe=percentiles measured, first seed
    multiples        statistic: NAME | [...]; layers: all | [...]; panels: layer | arm
                     small panels, mean over seeds with band; a row of panels per statistic
Kinds that read a table NAME.csv of the runs, first seed of the grid unless `seed` says otherwise
    lines            table, x, y: COLUMN | [...]; by: COLUMN, a line per value; panels: arm | none; dotted: [COLUMN];
                     boxes: TABLE with x0, x1, y0, y1, label; points: TABLE with x, y
    contour          table, x, y, z: columns of a regular grid; path: TABLE with x, y; log: [z] for logarithmic levels

An arm has its scheme's colour in every figure; arms of one scheme differ in dashes; where no arm names a scheme, each
arm has a colour of its own. Several lines of one arm by itself, points of a grid, go from dark to light.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from normexp.errors import unknown
from normexp.experiments.experiment import Experiment
from normexp.experiments.shape import check_figure_names
from normexp.report.experiment.drawings.against import against
from normexp.report.experiment.drawings.bars import bars
from normexp.report.experiment.drawings.contour import contour
from normexp.report.experiment.drawings.curves import curves
from normexp.report.experiment.drawings.heat import heat
from normexp.report.experiment.drawings.lines import lines
from normexp.report.experiment.drawings.multiples import multiples
from normexp.report.experiment.drawings.percentiles import percentiles
from normexp.report.experiment.drawings.steps_to_target import steps_figure
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.experiment.measured import Measured
from normexp.report.figures import images

KINDS: dict[str, Callable[[Subject], Figure]] = {
    "curves": curves,
    "percentiles": percentiles,
    "steps_to_target": steps_figure,
    "against": against,
    "bars": bars,
    "contour": contour,
    "lines": lines,
    "multiples": multiples,
    "heat": heat,
}


def draw(experiment: Experiment, found: Measured, results: Path, notes: Sequence[str]) -> dict[str, bytes]:
    """Return {file name: content} of every figure, PNG and SVG. Equal records give equal bytes.

    Raises: UserError for a figure that names what the records do not have.
    """
    drawn: dict[str, bytes] = {}
    axes = {key: values for key, values in experiment.grid.items() if key != "seed"}
    for spec in experiment.figures:
        subject = Subject(experiment, found, results, spec, notes)
        if spec["kind"] not in KINDS:
            raise unknown(f"experiment {experiment.name}: figure kind", spec["kind"], KINDS)
        known = [*found.metrics, *found.probe_metrics]
        check_figure_names(subject.where, spec, list(experiment.arms), axes, known)
        made = images(partial(KINDS[spec["kind"]], subject))
        drawn |= {f"{spec['name']}{suffix}": content for suffix, content in made.items()}
    return drawn


__all__ = ["KINDS", "draw"]
