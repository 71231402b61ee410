"""YAML that people write: read as it looks, or refused where it looks like something else.

Programs follow YAML 1.1, where `on` is true, `010` is 8, `1:30` is 90, `2020-01-01` a date and `1e-3` a text, and where
of a key that stands twice the last value counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from normexp.records.parsing import LOADER

_INTEGER = r"(0|[1-9]\d*|[1-9]\d{0,2}(_\d{3})+)"  # 10_000, not 1_0
_LOOKS = {  # kind of value -> the plain words that look like it
    "bool": re.compile("true|false", re.IGNORECASE),
    "int": re.compile(rf"[+-]?{_INTEGER}"),
    "float": re.compile(rf"[+-]?((\d*|{_INTEGER})\.?\d*(e[+-]?\d+)?|\.(inf|nan))", re.IGNORECASE),
    "timestamp": re.compile(r"(?!)"),
}
_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$")  # YAML 1.1 wants a point and a sign: 1.0e-3
_LOADER: Any = type("_Loader", (LOADER,), {})
_LOADER.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("+-.0123456789"))


def meant(text: str) -> Any:
    """Return what YAML text of people says.

    Raises: ValueError, with the line, for a key that a mapping has twice and a word that is another value than it
        looks; YAMLError for what is no YAML.
    """
    loader = _LOADER(text)
    whole = loader.get_single_node()
    for node in _nodes(whole):
        _check_keys(node)
        _check_word(node)
    try:
        return None if whole is None else loader.construct_document(whole)
    except yaml.YAMLError:
        raise
    except Exception as error:  # constructors meet values that they were not made for: `!!int ""` is an IndexError
        raise ValueError(f"is not YAML ({type(error).__name__})") from None


def check_keys(text: str) -> None:
    """Raise ValueError for a key that a mapping has twice."""
    for node in _nodes(yaml.compose(text, Loader=_LOADER)):
        _check_keys(node)


def _nodes(node: Any) -> Iterator[Any]:
    """Yield a node and all below it, in the order of the file."""
    if node is None:  # an empty file
        return
    yield node
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _nodes(key)
            yield from _nodes(value)


def _check_keys(node: Any) -> None:
    seen: set[str] = set()
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if str(key.value) in seen:
            raise ValueError(f"line {key.start_mark.line + 1}: the key {key.value!r} is given twice")
        seen.add(str(key.value))


def _check_word(node: Any) -> None:
    kind = node.tag.rpartition(":")[2]
    if not isinstance(node, yaml.ScalarNode) or node.style or kind not in _LOOKS or _LOOKS[kind].fullmatch(node.value):
        return
    word, line = node.value, node.start_mark.line + 1
    if kind == "timestamp":
        raise ValueError(f"line {line}: {word} is a date to YAML; write '{word}', in quotes")
    value = json.dumps(yaml.safe_load(word))
    raise ValueError(f"line {line}: {word} is {value} to YAML; write {value}, or '{word}' in quotes for the text")
