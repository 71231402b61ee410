"""Intervals that a search draws from: `interval(0,0.99)`, `tag(log,interval(0.001,1))`, `int(interval(8,256))`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from normexp.config.options import groups
from normexp.config.overrides import parse_overrides
from normexp.errors import UserError, unknown

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

EXAMPLE = "tag(log,interval(0.001,1))"
LOG = "log"  # the tag of an interval whose logarithms are drawn evenly


@dataclass(frozen=True)
class Interval:
    """Numbers from low to high, both included, drawn evenly or evenly in their logarithms; whole where both are."""

    low: float
    high: float
    log: bool = False

    def __contains__(self, value: object) -> bool:
        kinds = int if self.whole else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        """Return it as it is typed."""
        ends = f"interval({self.low:.15g},{self.high:.15g})"
        numbers = f"int({ends})" if self.whole else ends
        return f"tag({LOG},{numbers})" if self.log else numbers

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def of_whole(self) -> Interval:
        """Return that of the whole numbers alone, as int() around it means it."""
        return Interval(int(self.low), int(self.high), self.log)


def whole_meant(each: Interval, takes: Callable[[float], bool]) -> Interval | None:
    """Return the interval of whole numbers where all numbers were typed, and the key takes whole ones alone.

    Args:
        takes: tells whether the key takes a value.
    """
    if math.isinf(each.high) or takes(each.low) or not takes(each.of_whole().low):
        return None
    return each.of_whole()


def is_interval(override: Override) -> bool:
    return override.is_sweep_override() and override.is_interval_sweep()


def interval(override: Override) -> Interval:
    """Return the interval of an override.

    Raises UserError for a group, an empty one, a tag other than LOG, and a logarithm of 0 or below.
    """
    given: Any = override.value()
    found = Interval(given.start, given.end, LOG in given.tags)
    if override.key_or_group in groups():
        raise UserError(f"{override.input_line}: {override.key_or_group} has options, an interval is of numbers")
    if odd := sorted(set(given.tags) - {LOG}):
        raise UserError(f"{override.input_line}: {unknown('tag', odd[0], [LOG])}")
    if not found.low <= found.high:
        raise UserError(f"{override.input_line}: its ends are the wrong way round")
    if found.log and found.low <= 0:
        raise UserError(f"{override.input_line}: a logarithm needs numbers above 0")
    return found


def read_interval(key: str, text: str) -> Interval:
    """Return the interval that stands in a file. Raises UserError as `interval` does, and for what is none."""
    (override,) = parse_overrides([f"{key}={text}"])
    if not is_interval(override):
        raise UserError(f"{text!r} is no interval; for example {EXAMPLE}")
    return interval(override)
