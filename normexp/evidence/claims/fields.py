"""The fields of a claim: arms at places of the grid, targets, where to look; each read from its YAML spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from normexp.config.schema import refusal
from normexp.config.text import short_repr
from normexp.errors import UserError
from normexp.evidence.claims.region import ALLOWED, Region, read_region
from normexp.evidence.curves import AxisValue, Point, named_point
from normexp.evidence.stats import Printed

THE_OTHERS = "the others"
_NUMBER = r"\d+"
_AT = f"last|best|mean|range|step {_NUMBER}"
_AT_EVERY = f"last|every|step {_NUMBER}"


@dataclass(frozen=True)
class Place:
    """An arm, and the grid axes at which it is looked at; axes left open are all looked at, one by one."""

    arm: str
    point: Point = ()

    def __str__(self) -> str:
        return self.arm + at_point(self.point)


def at_point(point: Point) -> str:
    """Return ` at AXIS=VALUE`, or nothing where no axis is open."""
    return "".join(f" at {axis}={value}" for axis, value in point)


def _read_place(given: Any) -> Any:
    if isinstance(given, Place):
        return given
    if isinstance(given, str):
        return Place(given)
    if not isinstance(given, Mapping) or not isinstance(given.get("arm"), str):
        raise refusal(f"{short_repr(given)} names no arm; write ARM or {{arm: ARM, AXIS: VALUE}}")
    return Place(given["arm"], named_point(sorted((axis, value) for axis, value in given.items() if axis != "arm")))


def _read_rivals(given: Any) -> Any:
    return given if given == THE_OTHERS else [_read_place(each) for each in _listed(given)]


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _read_target(given: Any) -> Any:
    if isinstance(given, str):
        try:
            printed = Printed.of(given)
        except UserError as error:
            raise refusal(error) from None
        if printed.bound or not isfinite(printed.value):
            raise refusal(f"{given!r} is no target; give a number alone: what is better tells from which side")
        return printed.value
    return _read_place(given) if isinstance(given, Mapping) else given


def _one_of(words: str) -> AfterValidator:
    """Return what refuses a text that a pattern of words, one of them with a number, does not match."""

    def read(given: str) -> str:
        if not re.fullmatch(words, given):
            raise refusal(f"{given!r} is none of {words.replace('|', ', ').replace(_NUMBER, 'N')}")
        return given

    return AfterValidator(read)


def _read_where(given: Any) -> Any:
    return dict(named_point(given.items())) if isinstance(given, Mapping) else given


def _read_text(given: str) -> str:
    if not given.strip():
        raise refusal("is missing")
    return given


_ARM = {"anyOf": [{"type": "string"}, {"type": "object", "required": ["arm"]}]}
Text = Annotated[str, AfterValidator(_read_text)]
At = Annotated[str, _one_of(_AT), WithJsonSchema({"type": "string", "pattern": f"^({_AT})$"})]
AtEvery = Annotated[str, _one_of(_AT_EVERY), WithJsonSchema({"type": "string", "pattern": f"^({_AT_EVERY})$"})]
Arm = Annotated[Place, BeforeValidator(_read_place), WithJsonSchema(_ARM)]
Where = Annotated[dict[str, AxisValue], BeforeValidator(_read_where)]
Rivals = Annotated[
    list[Place] | Literal["the others"],
    BeforeValidator(_read_rivals),
    WithJsonSchema({"anyOf": [{"const": THE_OTHERS}, _ARM, {"type": "array", "items": _ARM}]}),
]
Target = Annotated[
    float | Place | list[float],
    BeforeValidator(_read_target),
    WithJsonSchema({"type": ["number", "string", "array"]}),
]
In = Annotated[
    Region,
    BeforeValidator(read_region),
    WithJsonSchema({"type": ["string", "array"], "description": ALLOWED}),
    Field(alias="in", description="The region in which it is said to lie."),
]
