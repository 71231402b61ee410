"""The figures of an experiment's YAML as typed objects: one entry of `figures` is one of these models, by its `kind`.

Every kind takes the keys of `Figure`; each class says what its kind draws. Shares (accuracies, errors) are fractions
in the YAML and percentages in the picture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from normexp.config.schema import Strict, check_once, refusal
from normexp.evidence.best_of import BEST_OF
from normexp.evidence.claims.fields import At, Text, Where
from normexp.evidence.curves import extremes, said_extremes
from normexp.evidence.scales import SCALES, Scale


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _by_scale(value: Any) -> Any:
    """Return {scale: {axis: [low, high]}}; what names no scale is the paper's, since shorter runs do not get there."""
    named = isinstance(value, Mapping) and any(key in SCALES for key in value)
    scales = cast("Mapping[Any, Any]", value) if named else {"paper": value}
    return {scale: each if isinstance(each, Mapping) else {"y": each} for scale, each in scales.items()}


def _number(given: Any) -> Any:
    """Refuse a truth value, which Python takes for 1 or 0."""
    if isinstance(given, bool):
        raise refusal(f"{given!r} is not a number")
    return given


def _target(given: Any) -> Any:
    given = _number(given)
    if isinstance(given, str) and not given.startswith(BEST_OF):
        raise refusal(f"{given!r} is neither a number nor `{BEST_OF}ARM`")
    return given


def _file_name(name: str) -> str:
    """Refuse a name that would lie in another folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
        raise refusal(f"{name!r} is no name of a file; allowed: letters, digits, _ and -")
    return name


Target = Annotated[float | str, BeforeValidator(_target)]
Names = Annotated[list[str], BeforeValidator(_listed)]
Pair = Annotated[tuple[float, float], Field(description="[LOW, HIGH]")]
Window = dict[Literal["x", "y"], Pair]
XY = list[Literal["x", "y"]]


def check_range(metric: str, target: object, *below: str | int) -> None:
    """Raise PydanticCustomError for a target that the metric cannot have; it stands `below`."""
    low, high = extremes(metric)
    if isinstance(target, int | float) and not low <= target <= high:
        raise refusal(
            f"{target:g} is outside the range of {metric}, which is {said_extremes(low, high)}", *below, "target"
        )


SELECTION = "selection"  # the picture of how hyperparameters were chosen
TARGETS = "targets"  # the picture of how many times fewer steps, over a range of targets


class Drawing(Strict):
    """Numbers may be texts, and pairs lists."""

    model_config = ConfigDict(strict=False)


class Reference(Drawing):
    """A straight line at a value that the reader needs: the noise, chance, the best constant answer."""

    at: Annotated[float, BeforeValidator(_number)]
    text: str
    axis: Literal["x", "y"] = "y"


class Figure(Drawing):
    """What every figure may have.

    Attributes:
        name: of the files NAME.png and NAME.svg.
        title: a few words above the picture.
        caption: sentences beside the picture; what lines, bands and marks mean is added to them.
        arms: those to show; all where it is empty.
        where: {AXIS: VALUE}: only these points of the grid.
        labels: {x | y | z: words with the unit} of an axis; {COLUMN | ARM | AXIS | LAYER: words} wherever it is named;
            an arm that is called as a scheme is has the scheme's one name otherwise (RMSNorm for `RMS norm`).
        limits: [LOW, HIGH] of y, or {x: ..., y: ...}, at paper scale; or {SCALE: one of these}.
        zoom: the same, of a second panel that shows a part of the first one larger.
        reference: lines at values, with words.
    """

    name: Annotated[Text, AfterValidator(_file_name)]
    title: str = ""
    caption: str = ""
    arms: list[str] = []
    where: Where = {}
    labels: dict[str, str] = {}
    limits: Annotated[dict[Scale, Window], BeforeValidator(_by_scale)] = {}
    zoom: Annotated[dict[Scale, Window], BeforeValidator(_by_scale)] = {}
    reference: list[Reference] = []

    @model_validator(mode="after")
    def _pairs(self) -> Figure:
        for window in (*self.limits.values(), *self.zoom.values()):
            for pair in window.values():
                if not pair[0] < pair[1]:
                    raise refusal(f"{list(pair)} is not [LOW, HIGH]")
        return self

    @model_validator(mode="after")
    def _shows_each_once(self) -> Figure:
        for key in type(self).model_fields:
            if isinstance(value := getattr(self, key), list):
                check_once([each for each in value if isinstance(each, str)], key)
        return self


class Curves(Figure):
    """A metric over training, a line per arm with its band; at paper scale the published curves, dashed.

    Attributes:
        formula: a column with what a law predicts, drawn dashed for the first arm.
        published_caption: a sentence about the published curves, where they are drawn.
    """

    kind: Literal["curves"]
    metric: str
    formula: str | None = None
    x: Literal["step", "epoch"] = "step"
    log: XY = []
    published: dict[str, dict[Literal["step", "epoch", "value"], list[float]]] = {}
    published_caption: str = ""


class StepsToTarget(Figure):
    """After how many steps each run first reached a target: a dot per run, a bar at the median, a place for never.

    Attributes:
        target: a number, or `best of ARM`: that of the arm's run with the same seed.
        sort: rows by their median, the fastest first.
    """

    kind: Literal["steps_to_target"]
    metric: str
    target: Target
    better: Literal["higher", "lower"] | None = None
    sort: bool = False
    log: list[Literal["x"]] = []

    @model_validator(mode="after")
    def _in_range(self) -> StepsToTarget:
        check_range(self.metric, self.target)
        return self


class Against(Figure):
    """A metric against an axis of the grid, a line per arm with 95 % intervals.

    Attributes:
        formula: a column with what a law predicts, drawn dashed for the first arm.
    """

    kind: Literal["against"]
    metric: str
    formula: str | None = None
    axis: str
    at: At = "last"
    log: XY = []


class Bars(Figure):
    """A metric per arm, a row each: mean, 95 % interval, a dot per run; `axis` groups the rows.

    Attributes:
        relative_to: an arm whose value, at the same point with the same seed, divides every other.
        sort: rows by their value, the best first.
        together: the values of `axis` in one row, told apart by colour.
    """

    kind: Literal["bars"]
    metric: str
    axis: str | None = None
    at: At = "last"
    relative_to: str | None = None
    sort: bool = False
    together: bool = False
    log: list[Literal["x"]] = []


class Counts(Figure):
    """Several metrics that count parts of one whole: a stacked bar per arm."""

    kind: Literal["counts"]
    metrics: list[str]
    at: At = "last"


class Heat(Figure):
    """Numbers as a coloured table: arms down; an axis of the grid, or several metrics, across.

    Attributes:
        relative_to: an arm whose value, at the same point with the same seed, divides every other.
    """

    kind: Literal["heat"]
    metric: str | None = None
    metrics: list[str] = []
    axis: str | None = None
    at: At = "last"
    relative_to: str | None = None
    log: list[Literal["z"]] = []

    @model_validator(mode="after")
    def _one_of(self) -> Heat:
        for key in ("metric", "axis"):
            if bool(getattr(self, key)) == bool(self.metrics):
                raise refusal(f"give either {key} or metrics")
        return self


class Percentiles(Figure):
    """Percentiles of one layer's input over training, as probe=percentiles measured them, one seed."""

    kind: Literal["percentiles"]
    layer: str
    seed: int | None = None
    log: list[Literal["y"]] = []


class Multiples(Figure):
    """Small panels of what a probe measured, mean over seeds with band; a row of panels per statistic."""

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

    kind: Literal["lines"]
    table: str
    x: str
    y: Names
    by: str | None = None
    panels: Literal["arm", "none"] = "none"
    dotted: list[str] = []
    boxes: str | None = None
    points: str | None = None
    markers: bool = False
    joined: bool = True
    seed: int | None = None
    log: XY = []


class Contour(Figure):
    """A surface z over x and y from a table that is a regular grid, a panel per arm, with a path on it."""

    kind: Literal["contour"]
    table: str
    x: str
    y: str
    z: str
    path: str | None = None
    seed: int | None = None
    log: list[Literal["x", "y", "z"]] = []


FigureSpec = Annotated[
    Curves | StepsToTarget | Against | Bars | Counts | Heat | Percentiles | Multiples | Lines | Contour,
    Field(discriminator="kind"),
]
MODELS: dict[str, type[Figure]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(get_args(FigureSpec)[0])
}
