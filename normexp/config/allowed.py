"""Which values a key may take: a type and a range, written as people write them in papers.

Grammar of a specification (the type may be left out where the key's default has one):

    [type] [interval] [or null]     int [1, inf)     (0, 1]     str or null
    norm [or null]                     the name of an option of norm
    list of [n] [type] [interval]   list of int [1, inf)     list of 2 [0, 1)     (n: so many items, or `one or more`)
    [list of] word | word | ...     fp32 | bf16     true | false | norms: a truth value, or a word
    SPECIFICATION or share          int [0, inf) or share: a number of examples, or a part of them (0.2)
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normexp.config.hints import word_hint
from normexp.config.text import check_digits, is_number, override_text, quoted, shortened, shown
from normexp.errors import UserError, did_you_mean

_SPEC = re.compile(
    r"^(?P<list>list of (?P<length>\d+ )?(?P<filled>one or more )?)?(?P<kind>int|float|str|bool|norm)? ?"
    r"(?P<open>[\[(])?(?(open)(?P<low>[^,]+), ?(?P<high>[^\])]+)(?P<close>[\])]))"
    r"(?P<share> ?or share)?(?P<null> ?or null)?$"
)
_SPAN = re.compile(r"(\d{1,9})(?:-|\.\.)(\d{1,9})")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,9})?) ?%")
_KINDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a text that is not empty",
    "bool": "true or false",
    "norm": "a scheme's name (normexp list norms)",
}
_MANY = {"int": "integers", "float": "numbers", "str": "non-empty texts", "bool": "truth values"}
LARGEST_FLOAT = 3.4028234663852886e38  # float32's; networks compute in it
SMALLEST_FLOAT = 1.1754943508222875e-38  # beside 0: runs take smaller ones for 0, as fast arithmetic does
LARGEST_INT = 2**63 - 1


@dataclass(frozen=True)
class Allowed:
    """The values one key may take. Raises UserError from `check`, with one line that says all of it."""

    kind: str = "str"
    is_list: bool = False
    nullable: bool = False
    interval: str = ""
    choices: tuple[str, ...] = ()
    length: int | None = None
    filled: bool = False
    share: bool = False

    def check(self, key: str, value: object) -> Any:
        """Return the value in its own type (1 becomes 1.0 where a float is due) or raise UserError."""
        if value is None and self.nullable:
            return None
        if self.share and isinstance(value, float) and 0 < value < 1:
            return value
        if not self.is_list:
            return self._one(key, value, whole=value)
        if self.choices and isinstance(value, str):
            value = [value]  # one word needs no brackets
        if not isinstance(value, list | tuple) or not self._is_long_enough(value):
            problem = f"{key}={shortened(shown(value))}: must be {self.describe()}{self._bracketed(key, value)}"
            raise UserError(self._in_quotes(key, value) or problem)
        return [self._one(key, item, whole=list(value)) for item in value]

    def check_typed(self, key: str, value: object, text: str) -> Any:
        """Check a value that was typed as `text`, which is what a key for text means: `results_dir=1e3` is a folder."""
        if is_number(value) and self.kind in ("str", "norm") and not self.is_list:
            return self.check(key, text)
        check_digits(key, text)
        whole = _in_integers(value)
        of_its_form = isinstance(value, list | tuple) == self.is_list
        if self.kind == "int" and not self.share and of_its_form and shown(whole) != shown(value):
            meant = did_you_mean(shlex.quote(f"{key}={shown(whole)}")) if self._takes(whole) else ""
            raise UserError(f"{key}={shortened(text)}: must be {self.describe()}{meant}")
        return self.check(key, value)

    def describe(self) -> str:
        """Say in words what is allowed."""
        interval = f" in {self.interval}" if self.interval else ""
        end = interval + (" or a share in (0, 1)" if self.share else "") + (" or null" if self.nullable else "")
        if self.is_list:
            many = f"some of {', '.join(self.choices)}" if self.choices else _MANY[self.kind]
            number = f"{self.length} " if self.length else "one or more " if self.filled else ""
            return f"a list of {number}{many}{end}"
        return ("one of " + ", ".join(self.choices) if self.choices else _KINDS[self.kind]) + end

    def _is_long_enough(self, items: Sequence[Any]) -> bool:
        return self.length in (None, len(items)) and len(items) >= self.filled

    def _one(self, key: str, value: Any, whole: Any) -> Any:
        converted = self._convert(value)
        if converted is None or not self._in_range(converted):
            number = span_of_seeds(key, value) or self._largest(value)
            hint = word_hint(shown(value), self.choices) if self.choices else number
            hint = self._several(key, value) or hint or _interpolation(value) or self._of_percent(key, value)
            problem = f"{key}={shortened(shown(whole))}: must be {self.describe()}{hint or self._as_text(key, whole)}"
            raise UserError(self._in_quotes(key, whole) or problem)
        return converted

    def _as_text(self, key: str, whole: Any) -> str:
        """Say how what looks like a truth value or null is typed where it is a text, as the name of a column may be."""
        if self.kind != "str" or self.choices:
            return ""
        several = whole if isinstance(whole, list) else [whole]
        if not any(map(_is_word, several)):
            return ""
        typed = ",".join(quoted(shown(item)) for item in several)
        if several is whole:
            return f"; as texts they are typed {shlex.quote(f'{key}=[{typed}]')}"
        return f"; as a text it is typed {shlex.quote(f'{key}={typed}')}"

    def _in_quotes(self, key: str, value: Any) -> str:
        """Say that a value would be allowed without the quotes around it, or around its items; nothing of another."""
        items = value if isinstance(value, list | tuple) else [value]
        meant = [_unquoted(item) for item in items] if items is value else _unquoted(value)
        if meant == value or not any(isinstance(item, str) for item in items) or not self._takes(meant):
            return ""
        return f"{key}={shortened(repr(value))} {'holds' if items is value else 'is'} a text; leave out the quotes"

    def _takes(self, value: Any) -> bool:
        try:
            self.check("", value)
        except UserError:
            return False
        return True

    def _bracketed(self, key: str, value: Any) -> str:
        """Say how one value is typed as a list of one, where that may be what was meant."""
        one = self._convert(value)
        fits = one is not None and self.length in (None, 1) and self._in_range(one)
        return did_you_mean(shlex.quote(f"{key}=[{shortened(shown(value))}]")) if fits else ""

    def _several(self, key: str, value: Any) -> str:
        """Say how one value or several are typed, where a list of what is allowed was given in the place of one."""
        if not isinstance(value, list) or not value or not all(map(self._takes, value)):
            return ""
        if len(value) == 1:
            return did_you_mean(shlex.quote(f"{key}={override_text(value[0])}"))
        listed = ",".join(map(shown, value))
        return f"; several are {shlex.quote(f'{key}={listed}')}, without brackets, in a sweep"

    def _of_percent(self, key: str, value: Any) -> str:
        """Say which fraction is meant by a percentage."""
        percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        fraction = float(f"{float(percent[1]) / 100:.12g}") if percent else 1.0
        return did_you_mean(f"{key}={fraction}") if percent and self._takes(fraction) else ""

    def _largest(self, value: Any) -> str:
        """Say which numbers the arithmetic holds, where one lies beyond."""
        if isinstance(value, float) and abs(value) > LARGEST_FLOAT:
            return f", at most {LARGEST_FLOAT:.3g} (float32)"
        if isinstance(value, float) and 0 < abs(value) < SMALLEST_FLOAT:
            return f", at least {SMALLEST_FLOAT:.3g} (float32)"
        return ", of 64 bits" if isinstance(value, int) and abs(value) > LARGEST_INT else ""

    def _convert(self, value: Any) -> Any:
        """Return the value as this kind, or None where it is of another kind."""
        if isinstance(value, bool) and (self.kind == "bool" or shown(value) in self.choices):
            return value
        if isinstance(value, bool) or value is None or self.kind == "bool":
            return None
        if self.kind == "float":
            return float(value) if isinstance(value, int | float) and _in_float32(value) else None
        if self.kind == "int":
            return value if isinstance(value, int) and abs(value) <= LARGEST_INT else None
        if value in ("true", "false") and self.choices:
            return value == "true"  # quoted, it is the same word
        return str(value) or None if isinstance(value, str | int | float) else None

    def _in_range(self, value: Any) -> bool:
        if self.choices:
            return shown(value) in self.choices
        if not self.interval:
            return True
        low, high = (float(end) for end in self.interval[1:-1].split(","))
        above = value > low or (value == low and self.interval[0] == "[")
        below = value < high or (value == high and self.interval[-1] == "]")
        return above and below


def check_count(option: str, value: int) -> None:
    """Raise UserError for a number of things below 1, given to an option of a command (`bench: --rounds`)."""
    if value < 1:
        raise UserError(f"{option} {value}: must be {from_on(1).describe()}")


def from_on(least: int) -> Allowed:
    """Return the rule of a count."""
    return Allowed(kind="int", interval=f"[{least}, inf)")


def _in_integers(value: Any) -> Any:
    """Return a number without its empty fraction, 100 for 1e2, and a list with such items; anything else as it is."""
    if isinstance(value, list | tuple):
        return [_in_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_word(value: object) -> bool:
    """Tell whether a value is typed as a word of YAML's: true, false or null."""
    return value is None or isinstance(value, bool)


def _unquoted(value: Any) -> Any:
    """Return what a text says without its quotes: a number, a list, true or null; anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _interpolation(value: Any) -> str:
    """Say that another key's value is written out, to whom Hydra would fill it in."""
    return "; `${...}` is not filled in here: write the value" if isinstance(value, str) and "${" in value else ""


def span_of_seeds(key: str, value: Any) -> str:
    """Say how several seeds are typed, where 1-5 or 1..5 was."""
    ends = _SPAN.fullmatch(str(value)) if key == "seed" else None
    return f"; did you mean `normexp sweep '{key}=range({ends[1]},{int(ends[2]) + 1})'`?" if ends else ""


def parse(spec: str | None, default: Any) -> Allowed:
    """Build the rule of one key from its specification and its default value (either may be None)."""
    is_list = isinstance(default, list)
    example = (default[0] if default else "") if is_list else default
    kind = "str" if example is None else type(example).__name__
    if spec is None:
        return Allowed(kind=kind, is_list=is_list, nullable=default is None)
    if "|" in spec:
        words = tuple(word.strip() for word in spec.removeprefix("list of ").split("|"))
        return Allowed(kind="str", is_list=spec.startswith("list of "), choices=words)
    match = _SPEC.match(spec)
    assert match, f"not a specification: {spec!r}"
    interval = f"{match['open']}{match['low']}, {match['high']}{match['close']}" if match["open"] else ""
    return Allowed(
        kind=match["kind"] or kind,
        is_list=bool(match["list"]) or is_list,
        nullable=bool(match["null"]),
        interval=interval,
        length=int(match["length"]) if match["length"] else None,
        filled=bool(match["filled"]),
        share=bool(match["share"]),
    )


def _in_float32(value: float) -> bool:
    return value == 0 or SMALLEST_FLOAT <= abs(value) <= LARGEST_FLOAT
