"""The form of what a run directory's files say: types and ranges, so that no reader meets anything else.

Every function raises ValueError with a few words on what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from normexp.records.names import IGNORED, METRICS, OWN_CODE, PROBES, STATUSES, TIMING, UNREACHED

MOST_CHARACTERS = 10_000  # of one value: a path, a note, a cause
MOST_VALUES = 20_000  # in one file
_NAME = re.compile(r"[\w.+-]{1,200}")
_DIGEST = re.compile(r"[0-9a-f]{64}")

Form = Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _are_digests(value: Any) -> bool:
    return isinstance(value, dict) and all(_DIGEST.fullmatch(str(digest)) for digest in value.values())


def _are_modules(value: Any) -> bool:
    return _are_digests(value) and all(_NAME.fullmatch(str(module)) for module in value)


def _is_about_data(value: dict[str, Any]) -> bool:
    shape, outputs = value.get("input_shape", []), value.get("num_outputs", 0)
    is_shape = isinstance(shape, list) and all(map(_is_count, shape)) and _is_count(outputs)
    return is_shape and isinstance(value.get("note", ""), str | None)


STATUS_FORM: dict[str, Form] = {
    "step": _is_count,
    "steps": _is_count,
    "attempts": _is_count,
    "seconds": _is_amount,
    "cause": _is_text,
    "sha256": _are_digests,
}
ENVIRONMENT_FORM: dict[str, Form] = {
    "commit": lambda value: value is None or isinstance(value, str),
    "precision": _is_text,
    IGNORED: _is_text,
    UNREACHED: _is_text,
    OWN_CODE: _are_modules,
    "stacked": _is_count,
    "stack": _is_text,
    "row": _is_count,
    "rate": _is_amount,
    "packages": _is_mapping,
    "continued": lambda value: (
        isinstance(value, list)
        and all(isinstance(each, dict) and _are_modules(each.get(OWN_CODE, {})) for each in value)
    ),
    "data": lambda value: isinstance(value, dict) and _is_about_data(value),
}
CONFIG_FORM: dict[str, Form] = {
    "_choices_": lambda value: isinstance(value, dict) and all(map(_are_names, value.items())),
    "_changes_": lambda value: value is None or isinstance(value, dict),
    "seed": _is_count,
    "plugins": lambda value: isinstance(value, list),
    "results_dir": _is_text,
}


def _is_step(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) < 20 and cell.isdecimal()


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


ROW_FORMS: dict[str, dict[str, Form]] = {
    METRICS: {"step": _is_step},
    TIMING: {"step": _is_step, "seconds": _is_number},
    PROBES: {"step": _is_step, "layer": _is_text, "statistic": _is_text, "value": _is_number},
}
OTHER_FORMS: dict[str, Form] = {METRICS: lambda cell: cell == "" or _is_number(cell)}  # of columns of any name


def check_rows(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Hold the rows of a run's CSV file to the columns that are read of it by name, and those of any name.

    Raises: ValueError, with the line, where they do not fit.
    """
    named, is_other = ROW_FORMS.get(name, {}), OTHER_FORMS.get(name)
    for line, row in enumerate(rows, start=2):
        if missing := next((column for column in named if column not in row), None):
            raise ValueError(f"no {missing} column")
        if None in row:  # as the reader calls what no column is named for
            raise ValueError(f"line {line}: more cells than columns")
        for column, cell in row.items():
            is_right = named.get(column, is_other)
            if is_right and not is_right(cell):
                raise ValueError(f"line {line}: its {_cut(column)} is {_short(cell)}")


def check_status(status: Mapping[str, Any]) -> None:
    if status.get("status") not in STATUSES:
        known = ", ".join(STATUSES)
        raise ValueError(f"its status is {_short(status.get('status'))}, and this version knows {known}")
    _check(status, STATUS_FORM)


def check_environment(environment: Mapping[str, Any]) -> None:
    _check(environment, ENVIRONMENT_FORM)


def check_config(config: Mapping[str, Any]) -> None:
    if "_choices_" not in config:
        raise ValueError("not the config of a run")
    _check(config, CONFIG_FORM)


def _are_names(choice: tuple[Any, Any]) -> bool:
    """Tell whether a group and its option are plain names: none may lead out of the folder of options."""
    return all(isinstance(name, str) and _NAME.fullmatch(name) and not name.startswith(".") for name in choice)


def _check(content: Mapping[str, Any], form: Mapping[str, Form]) -> None:
    wrong = next((key for key, is_right in form.items() if key in content and not is_right(content[key])), None)
    if wrong is not None:
        raise ValueError(f"its {wrong} is {_short(content[wrong])}")
    _check_values(content)


def _check_values(content: Mapping[str, Any]) -> None:
    """Hold every name to be text and every text to a length, whatever file it is."""
    left: list[Any] = [content]
    seen = 0
    while left:
        value = left.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values")
        if isinstance(value, str):
            if len(value) > MOST_CHARACTERS:
                raise ValueError(f"a value of {len(value):,} characters")
        elif isinstance(value, dict):
            if not all(map(_is_key, value)):
                raise ValueError("a key that is no short printable text")
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
        elif not isinstance(value, int | float | None):  # YAML has dates and bytes, and no setting is one
            raise ValueError(f"a value that is a {type(value).__name__}")


def _is_key(key: Any) -> bool:
    """Tell whether a key can be shown: keys name the arms of tables and figures."""
    return isinstance(key, str) and len(key) <= MOST_CHARACTERS and key.isprintable()


def _short(value: Any) -> str:
    return _cut(repr(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
