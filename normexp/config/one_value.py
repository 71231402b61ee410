"""What a run takes of Hydra's grammar is KEY=VALUE; of the rest, made for other programs, a line says what to write."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from normexp.config.options import groups, options, usual_and_allowed, usual_options
from normexp.config.overrides import NAMES, may_vary, plain_value
from normexp.config.text import check_digits, quoted, shortened
from normexp.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


def single_value(override: Override) -> Override:
    """Return the override. Raises UserError for one that adds, deletes or sweeps, with what is written instead."""
    text = shortened(override.input_line or "")
    if override.package is not None:
        raise UserError(f"{text}: an option has one place; drop the @{override.package}")
    if override.is_add() or override.is_force_add():
        raise UserError(f"{text}: new keys cannot be added; drop the + to set a key that exists")
    if override.is_delete():
        raise UserError(f"{text}: keys cannot be deleted; {_instead(override.key_or_group)}")
    if override.is_sweep_override():
        raise UserError(
            f"{text}: `normexp run` trains one configuration, so one value is allowed here{_several(override)}"
        )
    return override


def check_one(override: Override, instead: str = "quote a text with commas") -> None:
    """Raise UserError for several values where nothing trains by them: there is one folder of results, say."""
    if override.is_sweep_override():
        raise UserError(f"{shortened(override.input_line or '')}: one value is allowed here; {instead}")


def one_value(override: Override) -> Any:
    """Return what is typed for a key that has one value. Raises UserError for several, and as `check_digits`."""
    check_one(override)
    check_digits(str(override.key_or_group), override.get_value_string())
    return plain_value(override)


def _instead(key: str) -> str:
    """Say what is written in place of Hydra's `~key`."""
    if key in groups():
        return f"write {key}={'none' if 'none' in options(key) else usual_options()[key]}"
    return f"leave {shortened(key)} out, which takes its default, or set a value"


def _several(override: Override) -> str:
    """Say how several values are given: as a list where the key takes one and they are written out, else in a sweep."""
    key, _, typed = (override.input_line or "").partition("=")
    written_out, found = getattr(override.value(), "simple_form", False), usual_and_allowed(key)

    def takes(kind: type, word: str) -> bool:
        return any(isinstance(usual, kind) or word in allowed for usual, allowed in found)

    if written_out and takes(list, "list of"):
        return did_you_mean(f"'{key}=[{shortened(typed)}]'")
    several = "`normexp sweep` takes several"
    if re.fullmatch(r"-?0,\d+", typed) and takes(float, "float"):  # a decimal comma
        return f"{did_you_mean(shortened(f'{key}={typed}').replace(',', '.'))} ({several})"
    if written_out and key in NAMES and may_vary(key):
        name = typed.replace('"', "")  # without the quotes that words beyond ASCII were given
        return f"; {several}, and a name with commas is typed {shlex.quote(shortened(f'{key}={quoted(name)}'))}"
    return f"; {several}" if may_vary(key) else ""
