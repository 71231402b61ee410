"""What every figure of an experiment may have in the YAML; `normexp.experiments.figure_kinds` has the kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from normexp.config.schema import Strict, check_once, refusal
from normexp.config.text import short_repr
from normexp.evidence.best_of import BEST_OF
from normexp.evidence.claims.fields import Text, Where
from normexp.evidence.scales import PAPER, SCALES, Scale


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


def _by_scale(value: Any) -> Any:
    """Return {scale: {axis: [low, high]}}; what names no scale is the paper's, since shorter runs do not get there."""
    named = isinstance(value, Mapping) and any(key in SCALES for key in value)
    scales = cast("Mapping[Any, Any]", value) if named else {PAPER: value}
    return {scale: each if isinstance(each, Mapping) else {"y": each} for scale, each in scales.items()}


def _number(given: Any) -> Any:
    """Refuse a truth value, which Python takes for 1 or 0."""
    if isinstance(given, bool):
        raise refusal(f"{short_repr(given)} is not a number")
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
Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_number)]
Truth = Annotated[bool, Field(strict=True)]
OneOrMore = BeforeValidator(_listed)  # one text stands for the list of it; what is none is refused as one
Texts = Annotated[list[str], OneOrMore]
Names = Annotated[list[Text], Field(min_length=1), OneOrMore]
Pair = Annotated[tuple[Number, Number], Field(description="[LOW, HIGH]")]
Window = dict[Literal["x", "y"], Pair]
Windows = Annotated[dict[Scale, Window], BeforeValidator(_by_scale)]
LOG = Field(description="axes that are logarithmic")
XY = Annotated[list[Literal["x", "y"]], OneOrMore, LOG]


class Drawing(Strict):
    """Numbers may be texts, pairs lists, and a text a list of one; truth values are no numbers."""

    model_config = ConfigDict(strict=False)


class Reference(Drawing):
    """A straight line at a value that the reader needs: the noise, chance, the best constant answer."""

    at: Number
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
        limits: [LOW, HIGH] of y, or {x: ..., y: ...}, at paper scale; or {SCALE: one of these}. Of bars and
            steps_to_target, which are rows, x alone; counts, heat and contour have neither limits nor references.
        reference: lines at values, with words.
    """

    numbered: ClassVar[tuple[str, ...]] = ("x", "y")  # the axes that take limits and references
    measured: ClassVar[bool] = False  # whether the names of what it shows are known only when it has been measured
    name: Annotated[Text, AfterValidator(_file_name)]
    title: str = ""
    caption: str = ""
    arms: Texts = []
    where: Where = {}
    labels: dict[str, str] = {}
    limits: Windows = {}
    reference: list[Reference] = []

    def along(self) -> dict[str, list[str]]:
        """Return the axes that the keys with ends and lines give some of."""
        windows = {"limits": self.limits, "zoom": getattr(self, "zoom", {})}
        ends = {key: [axis for window in given.values() for axis in window] for key, given in windows.items()}
        return {**ends, "reference": [each.axis for each in self.reference]}

    @model_validator(mode="after")
    def _pairs(self) -> Figure:
        for window in (*self.limits.values(), *getattr(self, "zoom", {}).values()):
            for pair in window.values():
                if not pair[0] < pair[1]:
                    raise refusal(f"{list(pair)} is not [LOW, HIGH]")
        return self

    @model_validator(mode="after")
    def _along_numbers(self) -> Figure:
        """Refuse ends of an axis, and lines at its values, where it has names: nothing would show them."""
        for key, axes in self.along().items():
            for axis in axes:
                if axis not in self.numbered:
                    raise refusal(f"has no place on {axis} here; allowed: {', '.join(self.numbered) or 'none'}", key)
        return self

    @model_validator(mode="after")
    def _shows_each_once(self) -> Figure:
        for key in type(self).model_fields:
            if isinstance(value := getattr(self, key), list):
                check_once([each for each in value if isinstance(each, str)], key)
        return self
