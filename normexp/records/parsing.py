"""Bytes that were read back -> plain values, within bounds of depth and length.

Every function raises ValueError with a few words on what is wrong, and nothing else.
"""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

DEEPEST = 40
TOO_DEEP = f"nested more than {DEEPEST} deep"
MOST_COLUMNS = 10_000
MOST_BY_SECTIONS = 2**14  # characters; what is kept of strange files stays small
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A key at the margin and what stands below it, in printable ASCII: one section of a plain block mapping.
_SECTION = re.compile(r"^[A-Za-z_]\w*:(?: [ -~]*)?\n(?:(?: |- )[ -~]*\n)*", re.ASCII | re.MULTILINE)
# Anchors, flow style that is not empty, deep or nested blocks.
_MAY_BE_DEEP = re.compile(r"[&*]|\[(?!\])|{(?!})|^ {40}|[-?:] +[-?] ", re.MULTILINE)


def decoded(data: bytes) -> str:
    """Return UTF-8 text, without the byte order mark that some editors write before it.

    Raises: ValueError for what is no UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None


def json_object(data: bytes) -> dict[str, Any]:
    """Return the mapping that JSON text holds. Raises ValueError for anything else."""
    try:
        loaded = json.loads(decoded(data))
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("not JSON, or nested too deeply") from None
    if not isinstance(loaded, dict):
        raise ValueError("not an object")
    check_depth(loaded)
    return loaded


def yaml_mapping(data: bytes) -> dict[str, Any]:
    """Return the mapping that YAML text holds. Aliases are refused: a few lines of them can stand for 10^9 values."""
    text = decoded(data)
    if (by_sections := _by_sections(text[_after_comment(text) :])) is not None:
        return by_sections
    try:
        if _MAY_BE_DEEP.search(text, _after_comment(text)):
            check_events(text)
        loaded = yaml.load(text, Loader=LOADER)
    except ValueError:
        raise
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        hint = tab_hint(text, error.problem_mark.line) if error.problem_mark else ""
        raise ValueError(f"not YAML: {where}{error.problem}{hint}") from None
    except Exception as error:  # constructors meet values that they were not made for: `!!int ""` is an IndexError
        raise ValueError(f"not YAML: {type(error).__name__}") from None
    if not isinstance(loaded, dict):
        raise ValueError("is empty" if loaded is None else "not a mapping")
    return loaded


def tab_hint(text: str, line: int) -> str:
    """Return the end of an error about a line of YAML, from 0, that is indented with a tab; nothing for another."""
    found = "".join(text.splitlines()[line : line + 1])
    return "; indent with spaces, not with tabs" if "\t" in found[: len(found) - len(found.lstrip())] else ""


def _by_sections(text: str) -> dict[str, Any] | None:
    """Return what a plain block mapping holds, None where the text may be anything else.

    The configurations of a folder have most of their sections in common: a section that was met is not parsed again.
    """
    sections = _SECTION.findall(text) if len(text) <= MOST_BY_SECTIONS else []
    if not sections or sum(map(len, sections)) != len(text.removeprefix("\n")):
        return None
    loaded: dict[str, Any] = {}
    for pickled in map(_section, sections):
        if not pickled:
            return None
        loaded |= pickle.loads(pickled)  # a copy of its own for everybody
    return loaded


@lru_cache(maxsize=4096)
def _section(text: str) -> bytes:
    """Return the mapping that a section is, pickled; nothing where it is anything else."""
    if _MAY_BE_DEEP.search(text):
        return b""
    try:
        loaded = yaml.load(text, Loader=LOADER)
    except Exception:  # read whole, it may have a meaning, or it is refused
        return b""
    return pickle.dumps(loaded) if isinstance(loaded, dict) else b""


def csv_rows(data: bytes) -> list[dict[str, str]]:
    """Return the rows of CSV text that end in a line break (a killed process may leave half a row), as text.

    Raises: ValueError for what is no CSV.
    """
    lines = io.StringIO(decoded(data), newline="")
    try:
        reader = csv.DictReader(line for line in lines if line.endswith("\n"))
        if len(reader.fieldnames or ()) > MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS:,} columns")
        return list(reader)
    except csv.Error as error:
        raise ValueError(str(error)) from None


def check_depth(value: object) -> None:
    """Raise ValueError for a value that is nested more deeply than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def _inside(value: Any) -> Iterator[Any]:
    """Yield what a container holds that may be a container."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (each for each in held if isinstance(each, dict | list))


def _after_comment(text: str) -> int:
    """Return where the values begin: the command in the first line has brackets and stars of its own."""
    return text.find("\n") if text.startswith("#") else 0


def check_events(text: str) -> None:
    """Look at YAML event by event, which needs no stack: refuse aliases, and what would recurse too deeply."""
    depth = 0
    for event in _events(text):
        if isinstance(event, yaml.AliasEvent):
            where = f"line {event.start_mark.line + 1}: " if event.start_mark else ""
            raise ValueError(f"{where}*{event.anchor} is an alias; write out what stands at &{event.anchor}")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(TOO_DEEP)


def _events(text: str) -> Iterator[yaml.Event]:
    """Yield the events of YAML. libyaml has a bound of its own, which it may meet before the first event."""
    try:
        yield from yaml.parse(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        if error.problem and "nesting depth" in error.problem:
            raise ValueError(TOO_DEEP) from None
        raise
