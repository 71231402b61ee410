"""The figures of an experiment's YAML as typed objects: one entry of `figures` is one of these models, by its `kind`.

Every kind takes the keys of `Figure`; each class says what its kind draws. Shares (accuracies, errors) are fractions
in the YAML and percentages in the picture.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from normexp.config.schema import refusal
from normexp.config.text import is_number
from normexp.errors import unknown
from normexp.evidence.claims.fields import At
from normexp.evidence.metrics import better_direction
from normexp.experiments.figure import LOG, XY, Figure, Names, Number, OneOrMore, Target, Texts, Truth, Whole, Windows
from normexp.experiments.ranges import check_range

SELECTION = "selection"  # the picture of how hyperparameters were chosen
TARGETS = "targets"  # the picture of how many times fewer steps, over a range of targets


def are_numbers(values: Iterable[object]) -> bool:
    """Tell whether all values of an axis of the grid are numbers, so that it can be drawn as an axis of numbers."""
    return all(map(is_number, values))


class Curves(Figure):
    """A metric over training, a line per arm with its band; at paper scale the published curves, dashed.

    Attributes:
        formula: a column with what a law predicts, drawn dashed for the first arm.
        zoom: as `limits`, of a second panel that shows a part of the first one larger.
        published: {ARM: {step or epoch, as x is: [...], value: [...]}}.
        published_caption: a sentence about the published curves, where they are drawn.
    """

    kind: Literal["curves"]
    metric: str
    formula: str | None = None
    x: Literal["step", "epoch"] = "step"
    log: XY = []
    zoom: Windows = {}
    published: dict[str, dict[Literal["step", "epoch", "value"], list[Number]]] = {}
    published_caption: str = ""

    @model_validator(mode="after")
    def _published_are_curves(self) -> Curves:
        for arm, curve in self.published.items():
            for key in (self.x, "value"):
                if key not in curve:
                    raise refusal(f"has no {key}", "published", arm)
            x, values = len(curve[self.x]), len(curve["value"])
            if x != values:
                raise refusal(f"has {x} of {self.x}, but {values} of value", "published", arm)
        return self


class StepsToTarget(Figure):
    """After how many steps each run first reached a target: a dot per run, a bar at the median, a place for never.

    Attributes:
        target: a number, or `best of ARM`: that of the arm's run with the same seed.
        sort: rows by their median, the fastest first.
    """

    numbered = ("x",)
    kind: Literal["steps_to_target"]
    metric: str
    target: Target
    better: Literal["higher", "lower"] | None = None
    sort: Truth = False
    log: Annotated[list[Literal["x"]], OneOrMore, LOG] = []

    @model_validator(mode="after")
    def _in_range(self) -> StepsToTarget:
        check_range(self.metric, self.target)
        return self

    @model_validator(mode="after")
    def _has_direction(self) -> StepsToTarget:
        if (self.better or better_direction(self.metric)) is None:
            words = f"the name of metric {self.metric!r} does not tell what is better; add better: higher|lower"
            raise refusal(words, "metric")
        return self


class Against(Figure):
    """A metric against an axis of the grid, a line per arm with 95 % intervals.

    Attributes:
        formula: a column with what a law predicts, drawn dashed for the first arm.
        zoom: as `limits`, of a second panel that shows a part of the first one larger.
    """

    kind: Literal["against"]
    metric: str
    formula: str | None = None
    axis: str
    at: At = "last"
    log: XY = []
    zoom: Windows = {}


class Bars(Figure):
    """A metric per arm, a row each: mean, 95 % interval, a dot per run; `axis` groups the rows.

    Attributes:
        relative_to: an arm whose value, at the same point with the same seed, divides every other.
        sort: rows by their value, the best first.
        together: the values of `axis` in one row, told apart by colour.
    """

    numbered = ("x",)
    kind: Literal["bars"]
    metric: str
    axis: str | None = None
    at: At = "last"
    relative_to: str | None = None
    sort: Truth = False
    together: Truth = False
    log: Annotated[list[Literal["x"]], OneOrMore, LOG] = []

    @model_validator(mode="after")
    def _together_along_an_axis(self) -> Bars:
        if self.together and not self.axis:
            raise refusal("needs an axis, whose values it puts into one row", "together")
        return self


class Counts(Figure):
    """Several metrics that count parts of one whole: a stacked bar per arm."""

    numbered = ()
    kind: Literal["counts"]
    metrics: Names
    at: At = "last"


class Heat(Figure):
    """Numbers as a coloured table: arms down; an axis of the grid, or several metrics, across.

    Attributes:
        relative_to: an arm whose value, at the same point with the same seed, divides every other.
    """

    numbered = ()
    kind: Literal["heat"]
    metric: str | None = None
    metrics: Texts = []
    axis: str | None = None
    at: At = "last"
    relative_to: str | None = None
    log: Annotated[list[Literal["z"]], OneOrMore, LOG] = []

    @model_validator(mode="after")
    def _one_of(self) -> Heat:
        for key in ("metric", "axis"):
            if bool(getattr(self, key)) == bool(self.metrics):
                raise refusal(f"give either {key} or metrics")
        return self


class Percentiles(Figure):
    """Percentiles of one layer's input over training, as probe=percentiles measured them, one seed."""

    measured = True
    kind: Literal["percentiles"]
    layer: str
    seed: Whole | None = None
    log: Annotated[list[Literal["y"]], OneOrMore, LOG] = []


class Multiples(Figure):
    """Small panels of what a probe measured, mean over seeds with band; a row of panels per statistic."""

    measured = True
    kind: Literal["multiples"]
    statistic: Names
    layers: Names = ["all"]
    panels: Literal["layer", "arm"] = "layer"
    log: XY = []


class Lines(Figure):
    """Columns of a table that the runs wrote, as lines, one seed.

    Attributes:
        by: a column, a line for each of its values.
        dotted: columns of y that are drawn dotted.
        boxes: a table with x0, x1, y0, y1, label.
        points: a table with x, y.
        markers: whether the table's own rows are marked.
        joined: whether a line goes through them; not between examples, which have no order.
    """

    measured = True
    kind: Literal["lines"]
    table: str
    x: str
    y: Names
    by: str | None = None
    panels: Literal["arm", "none"] = "none"
    dotted: Texts = []
    boxes: str | None = None
    points: str | None = None
    markers: Truth = False
    joined: Truth = True
    seed: Whole | None = None
    log: XY = []

    @model_validator(mode="after")
    def _dotted_are_drawn(self) -> Lines:
        for column in self.dotted:
            if column not in self.y:
                raise refusal(unknown("column of y", column, self.y), "dotted")
        return self


class Contour(Figure):
    """A surface z over x and y from a table that is a regular grid, a panel per arm, with a path on it."""

    numbered = ()
    measured = True
    kind: Literal["contour"]
    table: str
    x: str
    y: str
    z: str
    path: str | None = None
    seed: Whole | None = None
    log: Annotated[list[Literal["x", "y", "z"]], OneOrMore, LOG] = []


FigureSpec = Annotated[
    Curves | StepsToTarget | Against | Bars | Counts | Heat | Percentiles | Multiples | Lines | Contour,
    Field(discriminator="kind"),
]
MODELS: dict[str, type[Figure]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(get_args(FigureSpec)[0])
}
