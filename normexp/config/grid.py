"""A sweep as typed (`norm=none,batch seed=range(5)`) -> the overrides of every cell, in Hydra's grammar."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from normexp.config.compose import parse_overrides
from normexp.config.options import groups, options
from normexp.errors import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


def expand(overrides: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the Cartesian product of all values, the last override varying fastest.

    `a,b`, `range()`, `choice()` and `glob()` are Hydra's. Raises UserError for what cannot be a finite list.
    """
    return list(itertools.product(*(_values(override) for override in parse_overrides(overrides))))


def _values(override: Override) -> Iterable[str]:
    from hydra.core.override_parser.types import Glob

    text = override.input_line or ""
    typed = text.partition("=")[0]  # with the +, ~ or @ that composing refuses
    if not override.is_sweep_override():
        return [text]
    if override.is_interval_sweep():
        raise UserError(f"{text}: an interval has no finite list of values; use range() or a,b,c")
    value = override.value()
    if isinstance(value, Glob):
        if override.key_or_group not in groups():
            raise UserError(f"{text}: glob() chooses options of a group; {override.key_or_group} is none")
        names = value.filter(list(options(str(override.key_or_group))))
        if not names:
            raise UserError(f"{text}: matches no option; there are {', '.join(options(str(override.key_or_group)))}")
        return [f"{typed}={name}" for name in names]
    if not (values := list(override.sweep_string_iterator())):
        raise UserError(f"{text}: has no values")
    return [f"{typed}={value}" for value in values]
