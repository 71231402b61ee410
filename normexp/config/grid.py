"""A sweep as typed (`norm=none,batch seed=range(5)`) -> the overrides of every cell, in Hydra's grammar."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from normexp.config.options import groups, options
from normexp.config.overrides import parse_overrides
from normexp.errors import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Glob, Override, RangeSweep

MOST = 100_000  # cells of one sweep
_NESTED = re.compile(r"""["'(){}\[\]\\]""")  # a comma may stand inside of these


def expand(overrides: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the Cartesian product of all values, the last override varying fastest.

    `a,b`, `range()`, `choice()` and `glob()` are Hydra's. Raises UserError for what cannot be a finite list, or is
    one of more than MOST cells.
    """
    axes = [_values(override) for override in parse_overrides(overrides)]
    if math.prod(map(len, axes)) > MOST:
        several = [axis for axis in axes if len(axis) > 1]
        keys = ", ".join(axis[0].partition("=")[0] for axis in several)
        sizes = " x ".join(f"{len(axis):,}" if len(axis) <= MOST else f"more than {MOST:,}" for axis in several)
        raise UserError(f"{keys}: a sweep of {sizes} runs; at most {MOST:,} are allowed")
    return list(itertools.product(*axes))


def _values(override: Override) -> Sequence[str]:
    """Return an override for every value that one stands for. Raises UserError as `expand` does."""
    from hydra.core.override_parser.types import Glob, RangeSweep

    text = override.input_line or ""
    typed = text.partition("=")[0]  # with the +, ~ or @ that composing refuses
    if not override.is_sweep_override():
        return [text]
    if override.is_interval_sweep():
        raise UserError(f"{text}: an interval has no finite list of values; use range() or a,b,c")
    value = override.value()
    if getattr(value, "simple_form", False) and not _NESTED.search(text):
        return [f"{typed}={word.strip()}" for word in text.partition("=")[2].split(",")]
    if isinstance(value, Glob):
        return [f"{typed}={name}" for name in _matching(value, str(override.key_or_group), text)]
    if isinstance(value, RangeSweep):
        _as_typed(value)
    try:
        values = list(itertools.islice(override.sweep_string_iterator(), MOST + 1))
    except ValueError as error:  # a range whose step is 0
        raise UserError(f"{text}: {error}") from None
    if not values:
        raise UserError(f"{text}: has no values")
    return [f"{typed}={value}" for value in values]


def _matching(pattern: Glob, group: str, text: str) -> list[str]:
    """Return the options of a group that match. Raises UserError for another key, and where none does."""
    if group not in groups():
        raise UserError(f"{text}: glob() chooses options of a group; {group} is none")
    names: list[str] = pattern.filter(list(options(group)))
    if not names:
        raise UserError(f"{text}: matches no option; there are {', '.join(options(group))}")
    return names


def _as_typed(steps: RangeSweep) -> None:
    """Let a range count in the decimals that were typed: of the fractions that are nearest 0.1, three are not 0.3."""
    for end in ("start", "stop", "step"):
        if isinstance(number := getattr(steps, end), float):
            setattr(steps, end, Decimal(repr(number)))
