"""What of a data set of the user's own is part of a run's identity: its files by content, their names by themselves."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from normexp.config.identity import PATH_KEYS
from normexp.data.base import Dataset
from normexp.data.files.content import content_by_name
from normexp.data.files.members import files

GROUP = "dataset."


def content_of_own(dataset: Dataset, given: Mapping[str, Any], results: Path) -> str:
    """Return the sha256 of the data that the user brings; nothing where no option names any.

    Args:
        given: the options that were typed.
        results: the folder of runs: what runs write is no data, and a folder that holds it counts by its name.
    """
    options = {field.name: getattr(dataset, field.name, None) for field in fields(dataset)} | dict(given)
    content = dataset.content() or _content_of_paths(options, results)
    words = {key: given[key] for key in _path_options(given) if not _all_there(given[key], results)}
    return hashlib.sha256(json.dumps([content, words], default=str).encode()).hexdigest() if words else content


def _path_options(given: Mapping[str, Any]) -> list[str]:
    """Return the options, which have a value, whose text an identity leaves out: their content stands for them."""
    return [key for key in sorted(given) if f"{GROUP}{key}" in PATH_KEYS and given[key] is not None]


def _all_there(value: Any, results: Path) -> bool:
    texts = [text for _, text in _texts("", value)]
    return bool(texts) and all(_is_data(text, results) for text in texts)


def _content_of_paths(options: Mapping[str, Any], results: Path) -> str:
    """Return the sha256 of the files and folders that options name, alone or in lists; nothing where they name none."""
    texts = (found for key, value in options.items() for found in _texts(key, value))
    paths = {key: Path(text) for key, text in texts if _is_data(text, results)}
    named = {f"{key}/{file.relative_to(path)}": file for key, path in paths.items() for file in files(path)}
    return content_by_name(named) if named else ""


def _texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield what may be a path in an option's value, with a name of its own."""
    if isinstance(value, str | os.PathLike):
        yield key, os.fspath(value)
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from _texts(f"{key}.{place}", each)


def _is_data(text: str, results: Path) -> bool:
    return os.path.exists(text) and not results.resolve().is_relative_to(Path(text).resolve())
