"""The file of an experiment, for errors that name the place in it: file, line and key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from normexp.config import config_dir
from normexp.config.text import dotted
from normexp.errors import POINTER, UserError, is_pointer
from normexp.records.files import MOST_TEXT
from normexp.records.parsing import LOADER, check_events
from normexp.records.printable import printable

LIKE = "like"  # the key that names the experiment that says what a file does not


@dataclass(frozen=True)
class Document:
    """Where an experiment was read.

    Args:
        name: of the experiment.
        text: what its file says.
    """

    name: str
    path: Path
    text: str

    def at(self, *keys: str | int) -> str:
        """Return `experiment NAME (FILE:LINE): claims[3].of`, the beginning of every error."""
        return ": ".join(filter(None, (self.place(*keys), dotted(keys))))

    def place(self, *keys: str | int) -> str:
        """Return `experiment NAME (FILE:LINE)`."""
        return f"experiment {self.name}{self._line(keys)}"

    def has(self, *keys: str | int) -> bool:
        """Tell whether the file has an entry under these keys."""
        return _found(self.text, keys)[1]

    def laid(self, scale: str, *keys: str | int) -> tuple[str | int, ...]:
        """Return where a scale lays something over these keys, the keys themselves where it does not."""
        there = ("scales", scale, *keys)
        return there if self.has(*there) else keys

    def _line(self, keys: tuple[str | int, ...]) -> str:
        return f" ({_shown(self.path)}{f':{line_of(self.text, keys)}' if keys else ''}{self._other(keys)})"

    def _other(self, keys: tuple[str | int, ...]) -> str:
        """Return `, like OTHER` where what stands under these keys is that one's; nothing of what this file says."""
        listed = any(isinstance(key, int) and self.has(*keys[: i + 1]) for i, key in enumerate(keys))
        other = _below(_tree(self.text), LIKE) if keys and not listed and not self.has(*keys) else None
        return f", {LIKE} {printable(other[1].value)}" if other else ""

    def error(self, problem: str, *keys: str | int) -> UserError:
        return UserError(f"{self.at(*keys)}: {problem}")


def read_document(name: str, path: Path) -> Document:
    """Read the file of an experiment. Raises UserError for one that is too large, or no text."""
    if path.stat().st_size > MOST_TEXT:
        raise Document(name, path, "").error(f"is larger than {MOST_TEXT:,} bytes")
    try:
        return Document(name, path, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise UserError(f"{path}: is no text in UTF-8") from None


def check_own(document: Document) -> None:
    """Look at somebody's YAML before it is loaded: its depth, and no aliases.

    A few lines of aliases can stand for 10^9 values. Raises UserError.
    """
    if is_pointer(document.text.encode()):
        raise document.error(POINTER)
    try:
        check_events(document.text)
    except ValueError as error:
        raise document.error(str(error)) from None


def line_of(text: str, keys: tuple[str | int, ...]) -> int:
    """Return the line, from 1, on which the last of the keys that is there stands."""
    return _found(text, keys)[0]


def _found(text: str, keys: tuple[str | int, ...]) -> tuple[int, bool]:
    """Return the line of the last of the keys that is there, and whether all of them are."""
    node, line = _tree(text), 1
    for key in keys:
        found = _below(node, key)
        if found is None:
            return line, False
        line, node = found
    return line, True


@lru_cache(maxsize=4)  # every check of a file asks for its place, wrong or not
def _tree(text: str) -> Any:
    return yaml.compose(text, Loader=LOADER)


def _below(node: Any, key: str | int) -> tuple[int, Any] | None:
    """Return the line of a key or an item, and the node of its value."""
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == str(key):
                return name.start_mark.line + 1, value
    return None


def _shown(path: Path) -> str:
    """Return one of our files from the folder of configurations, another one as it was given."""
    inside = config_dir().parent
    return path.relative_to(inside).as_posix() if path.is_relative_to(inside) else str(path)
