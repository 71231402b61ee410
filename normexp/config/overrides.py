"""Overrides as typed (`norm=batch optim.lr=0.3`) -> keys and values. The grammar is Hydra's, the errors are ours."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from normexp.config.allowed import from_on, span_of_seeds
from normexp.config.hints import WHOLE
from normexp.config.identity import IGNORED_KEYS, PATH_KEYS
from normexp.config.options import groups, keys_by_word, options, root, usual_and_allowed
from normexp.config.text import QUOTED, check_digits, has_control_characters, quoted, shortened
from normexp.errors import UserError, as_python, did_you_mean, nearest

if TYPE_CHECKING:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Override

_PLACES = (*PATH_KEYS, "results_dir")
NAMES = (*_PLACES, "dataset.target")  # of files and columns, which are made of any signs
_LISTS = ("dataset.features",)  # of such names
_PATH = re.compile(r"(~|\.{0,2}/|[A-Za-z]:\\)")  # begins a path, here or on Windows
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")
_QUOTED = re.compile(f"({QUOTED})")
_SIGNS = "\u201c\u201d\u2018\u2019\u2013\u2014"  # quotes and dashes that a text program makes of typed ones
_WITH_SIGN = re.compile(r"([\w.]+)(?:==|[=:/])([^=:/]+)")
_SETTING = re.compile(r"[A-Za-z_][\w.]*=(?!=)")  # how one begins
_USUAL = "; write norm=batch, and quote lists: 'model.widths=[100,100]'"
_BETWEEN = re.compile(r"[,;\s]+(?=[A-Za-z_][\w.]*=)|\s+")  # two settings in one word
_CALL = re.compile(r"([A-Za-z]\w*)(\(.*)", re.DOTALL)  # a sweep is one: range(3)
_SWEEPS = ("range", "choice", "interval", "glob")
_FOREIGN = re.compile(r"[^\s,\[\]{}()][^,\[\]{}()]*")  # an item of a list; quoted where it is not ASCII


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Return the overrides in Hydra's terms. Raises UserError for what is not `key=value`."""
    if meant := written_apart(overrides):
        raise UserError(f"{meant[0]!r} is not key=value; did you mean {meant[1]}?")
    return [_parsed(text) for text in overrides]


def listed_overrides(overrides: Sequence[str]) -> list[str]:
    """Return what Python gives as overrides. Raises UserError for a text or a dict: letters or keys would be taken."""
    if isinstance(overrides, Mapping):
        raise UserError(f"{overrides!r}: give a list of overrides: {[f'{k}={v}' for k, v in overrides.items()]!r}")
    if isinstance(overrides, str):
        raise UserError(f"{overrides!r}: give a list of overrides: {overrides.split()!r}")
    try:
        texts = list(overrides)
    except TypeError:  # nor is a tensor of no dimension, which Python takes for iterable
        no_list = f"{as_python(overrides)} is no list of overrides; give for example ['norm=batch', 'model=mlp']"
        raise UserError(no_list) from None
    if others := [each for each in texts if not isinstance(each, str)]:
        raise UserError(f"{as_python(others[0])} is no override; each is a text, for example 'norm=batch'")
    return texts


def typed_overrides(overrides: Sequence[str]) -> list[str]:
    """Return what a caller of Python types. Raises UserError as the command line does, for a key given twice, too."""
    texts = listed_overrides(overrides)
    check_once(texts)
    return texts


def check_truth(name: str, value: object) -> None:
    """Raise UserError for an argument of Python's that is neither True nor False: the text "no" would count as True."""
    if not isinstance(value, bool):
        raise UserError(f"{name}={as_python(value)}: must be True or False")


def written_apart(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the first words that are a setting with spaces in it (`norm = batch`, `norm batch`), and the setting."""
    for i, word in enumerate(words[:-1]):
        key = keys_by_word().get(word.rstrip("=:"))
        rest = words[i + 1 : i + (3 if words[i + 1] in ("=", ":") else 2)]
        value = re.sub("^[=:]", "", "".join(rest))
        if key and word.count("=") == word.endswith("=") and value and "=" not in value:
            return shortened(" ".join([word, *rest])), shlex.quote(shortened(f"{key}={value}"))
    return None


def check_once(overrides: Iterable[str]) -> None:
    """Raise UserError where a user gives one key twice; an experiment's arm may set what is common to all again."""
    seen: set[str] = set()
    for key in (text.partition("=")[0] for text in overrides):
        if key in seen:
            several = f" (a sweep takes {shortened(key)}=A,B)" if may_vary(key) else ""
            raise UserError(f"{shortened(key)} is given twice; give it once{several}")
        seen.add(key)


def may_vary(key: str) -> bool:
    """Tell whether the runs of a sweep may differ in a key: not in where they lie, nor in what is of the sweep."""
    first = key.partition(".")[0]
    return (first in groups() or first in root()) and key not in IGNORED_KEYS


def take_out(overrides: Sequence[str], key: str) -> tuple[list[str], list[str]]:
    """Return the values that a key is given, as typed, and the other overrides: it belongs to a sweep, not to a run."""
    values = [text.partition("=")[2] for text in overrides if text.startswith(f"{key}=")]
    return values, [text for text in overrides if not text.startswith(f"{key}=")]


def whole_number(key: str, text: str, least: int) -> int:
    """Read the value of a key that is of a sweep. Raises UserError for what is no integer from `least` on."""
    if not (text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise UserError(f"{key}={text}: must be {from_on(least).describe()}")
    return int(text)


def plain_value(override: Override) -> Any:
    """Return an override's value as plain Python (a quoted string becomes its text)."""
    return _plain(override.value())


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return getattr(value, "text", value)


def _has_a_sweep(value: Any) -> bool:
    """Tell whether one of a value's items is a sweep of its own: of a choice, a list or a mapping."""
    from hydra.core.override_parser.types import Glob, Sweep

    items = value if isinstance(value, list) else getattr(value, "list", ())
    inside = value.values() if isinstance(value, dict) else items
    return any(isinstance(item, Sweep | Glob) or _has_a_sweep(item) for item in inside)


@cache
def _parser() -> OverridesParser:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


@lru_cache(maxsize=10_000)  # the runs of a sweep share most of their overrides
def _parsed(text: str) -> Override:
    if has_control_characters(text):
        raise UserError(f"{shortened(text)!r}: a value is one line of text, without control characters")
    key, _, value = text.partition("=")
    _check_ends(key, value)
    if override := next(filter(None, (_by_grammar(attempt, text) for attempt in _attempts(text))), None):
        if override.is_sweep_override():  # its values are made from numbers, not from what was typed
            check_digits(key, value)
        if _has_a_sweep(override.value()):
            raise UserError(
                f"{shortened(text)}: range(), choice(), interval() and glob() stand alone; write the values out"
            )
        return override
    if _SETTING.match(text) and "." not in key and key not in keys_by_word():
        return _parsed(f"{key}={quoted(value)}")  # that it does not exist is said where keys are known
    raise _unreadable(text)


def _by_grammar(attempt: str, text: str) -> Override | None:
    """Return what Hydra reads in an attempt at a text, None where that is nothing. Raises UserError, as Python may."""
    from hydra.errors import HydraException

    try:
        (override,) = _parser().parse_overrides([attempt])
    except HydraException:
        return None
    except ValueError:  # Python's limit for integers
        raise UserError(f"{shortened(text)}: a number of too many digits") from None
    return override


def _unreadable(text: str) -> UserError:
    """Build the one-line error for what the grammar cannot read: a setting with such a value, or no setting."""
    hint, (key, _, value) = _example(text), text.partition("=")
    if not _SETTING.match(text):
        return UserError(f"{shortened(text)!r} is not key=value{hint or _USUAL}")
    typed = repr(shortened(text)) if " " in text else shortened(text)
    return UserError(f"{typed}: cannot be read{hint or _readable(keys_by_word().get(key, key), value)}")


def _check_ends(key: str, value: str) -> None:
    """Raise UserError for spaces at the ends of a path, which Hydra's grammar drops and a file's name may have."""
    if key in _PLACES and value.strip() not in ("", value):
        typed, meant = shortened(f"{key}={value}"), shortened(f"{key}={quoted(value)}")
        raise UserError(
            f"{typed!r}: spaces at the ends of a path count in quotes alone; write '{meant}', or leave them out"
        )


def _attempts(text: str) -> Iterator[str]:
    """Yield the text as it is, then with the quotes that Hydra's grammar wants around accents, paths and names."""
    yield text
    key, _, value = text.partition("=")
    if not value.isascii():
        yield f"{key}={_quote_foreign(value)}"
    if value[:1] + value[-1:] == "[]":
        if key in _LISTS and not set(value[1:-1]) & set("[]'\""):
            yield f"{key}=[{','.join(quoted(item.strip()) for item in value[1:-1].split(','))}]"
    elif _PATH.match(value) or not value.isascii() or (key in NAMES and value[:1] != "["):
        yield f"{key}={quoted(value)}"


def _quote_foreign(value: str) -> str:
    """Return a value in which every item with letters beyond ASCII has quotes; what has them already stays."""

    def quote(match: re.Match[str]) -> str:
        item = match[0].rstrip()
        return match[0] if item.isascii() else quoted(item)

    parts = _QUOTED.split(value)
    return "".join(part if index % 2 else _FOREIGN.sub(quote, part) for index, part in enumerate(parts))


def _another_way(text: str) -> str | None:
    """Return the setting that was written another way: with other signs, with other quotes, several in one word."""
    bare = text.strip(_SIGNS)
    if several := _several(bare):
        return several
    if bare in options("experiment"):
        return f"`normexp reproduce {bare}`"
    if (found := _WITH_SIGN.fullmatch(bare)) and found[1] in keys_by_word():
        meant = f"{keys_by_word()[found[1]]}={found[2]}"
        as_it_is = text == f"{found[1]}={found[2]}"  # then the value is what cannot be read
        return None if as_it_is else shlex.quote(shortened(meant))
    return WHOLE.get(bare)


def _several(text: str) -> str | None:
    """Return the settings that were written into one word, behind spaces or commas, None where it is one."""
    words = _BETWEEN.split(text)
    if len(words) < 2 or not all(_SETTING.match(word) for word in words):
        return None
    apart = shortened(" ".join(words))
    return f"{apart}, without quotes around both" if " " in text else apart


def _example(text: str) -> str:
    """Return what was probably meant: the group of an option that was named alone, or a quoted list; else nothing."""
    if text.endswith((".yaml", ".yml")):
        path = shortened(text)
        return f"; settings in a file: --config {path}; an experiment of your own: normexp reproduce {path}"
    if os.path.isfile(os.path.join(text, "config.yaml")):  # False, too, where no path can be so long
        return "; the settings of a run: --like RUN, of one"
    if text.endswith(",") and "[" in text:  # the shell took `model.widths=[100, 100]` for two words
        return "; a list is one word in quotes: 'model.widths=[100,100]'"
    if text.endswith(",") or ",," in text:
        return "; a value is missing beside a comma"
    if meant := _another_way(text):
        return f"; did you mean {meant}?"
    key, _, value = text.strip("{}").partition(":")
    for group in groups():
        if text in options(group):
            return f"; did you mean {group}={text}?"
        if key == group and value.strip():
            return f"; did you mean {shlex.quote(shortened(f'{group}={value.strip()}'))}?"
        if text == group:
            return f"; allowed: {group}=NAME, one of {', '.join(options(group))}"
    return ""


def _call(key: str, value: str) -> str | None:
    """Return a sweep whose name is misspelt, or whose parenthesis is open; None for what is none of ours."""
    call = _CALL.fullmatch(value)
    name = nearest(call[1], _SWEEPS, 0.6) if call else None
    if call is None or name is None:
        return None
    meant = f"{key}={name}{call[2]}{')' * (call[2].count('(') - call[2].count(')'))}"
    return None if meant == f"{key}={value}" else shlex.quote(shortened(meant))


def _readable(key: str, value: str) -> str:
    """Return how a value that the grammar cannot read was meant: an option, numbers, a sweep, a text with signs."""
    if meant := _call(key, value):
        return did_you_mean(meant)
    if key in groups():
        named = re.match(r"\w+", value)
        return did_you_mean(f"{key}={named[0]}") if named and named[0] in options(key) else _USUAL
    usual = [each for each, _ in usual_and_allowed(key)]
    numbers = [item for item in re.split(r"[\s,;()\[\]{}]+", value) if item]
    if not all(map(_NUMBER.fullmatch, numbers)):
        numbers = []
    if span := span_of_seeds(key, value.strip("(){}")):
        return span
    if numbers and any(isinstance(each, list) for each in usual):
        return did_you_mean(shlex.quote(shortened(f"{key}=[{','.join(numbers)}]")))
    if numbers and any(isinstance(each, int | float) for each in usual):
        meant = f"{key}={','.join(numbers)}"
        return did_you_mean(meant) if len(numbers) == 1 else f"; several are {shortened(meant)}, in a sweep"
    if key in _LISTS or any(isinstance(each, list | int | float) for each in usual) or set(value) & set("\"'"):
        return _USUAL
    return f"; a text with such signs stands in quotes: {shlex.quote(shortened(f'{key}={quoted(value)}'))}"
