"""Values as people type them: in an override, in a label, in an error."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeGuard

from normexp.errors import UserError

_PLAIN = re.compile(r"[A-Za-z/_][A-Za-z0-9_./:-]*")  # texts that need no quotes in Hydra's grammar,
_WORDS = ("null", "true", "false", "nan", "inf")  # but for those that mean something else
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # a tab harms nobody
QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_APART = re.compile(rf"({QUOTED})|[\s,:()\[\]{{}}]")  # what stands in quotes, and between items
_SIGN = re.compile(rf"(?<![^\s,:(\[{{]){QUOTED}|[,()\[\]{{}}]")  # of a list; quotes count where an item begins
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(_\d{3})+(\.\d*)?")
LONGEST = 200  # characters of a value that an error repeats
SHORT = 60  # of one that stands in a document


def shown(value: object) -> str:
    """Return a value as it is typed, without quotes: true, null, 0.3, [100,100]; an item with commas has them."""
    if isinstance(value, list | tuple):
        items = ((as_item(item) if isinstance(item, str) else shown(item)) or '""' for item in value)
        return f"[{','.join(items)}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def composed(name: str) -> str:
    """Return a text with its accents in one form: some systems write ü as a u and two dots, which looks the same."""
    return unicodedata.normalize("NFC", name)


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def amount(count: int, noun: str) -> str:
    """Return a number of things: 1 run, 2 runs."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def as_argument(path: object) -> str:
    """Return a path as a command takes it: one that begins with a dash would be an option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text


def override_text(value: Any) -> str:
    """Return a value in Hydra's override grammar: as it is shown, with quotes around a text that needs them."""
    if isinstance(value, list):
        return f"[{','.join(map(override_text, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{override_text(key)}:{override_text(item)}' for key, item in value.items())}}}"
    needs_none = not isinstance(value, str) or (_PLAIN.fullmatch(value) and value.lower() not in _WORDS)
    return shown(value) if needs_none else quoted(value)


def quoted(text: str) -> str:
    """Return a text in the quotes of Hydra's grammar."""
    from hydra.core.override_parser.types import Quote, QuotedString

    return QuotedString(text, Quote.double).with_quotes()


def as_item(text: str) -> str:
    """Return a text as it stands between commas: one with commas of its own in quotes."""
    return quoted(text) if "," in text else text


def items(text: str) -> list[str]:
    """Return the texts of which a list was made with `as_item`: split at the commas outside quotes and brackets."""
    commas, depth = [-1], 0
    for match in _SIGN.finditer(text):
        if match[0] in ("(", "[", "{"):
            depth += 1
        elif match[0] in (")", "]", "}"):
            depth = max(depth - 1, 0)
        elif match[0] == "," and not depth:
            commas.append(match.start())
    return [_as_it_was(text[begin + 1 : end]) for begin, end in pairwise([*commas, len(text)])]


def _as_it_was(item: str) -> str:
    """Return the text that `as_item` made an item of."""
    if "," not in item or not re.fullmatch(QUOTED, item):
        return item
    # Hydra doubles the backslashes before a quote and at the end, and puts one before each quote.
    return re.sub(rf"\\+(?={item[0]}|\Z)", lambda match: match[0][: len(match[0]) // 2], item[1:-1])


def shortened(text: str) -> str:
    """Return a text that fits into one line of an error, on a terminal too: cut where it is long, controls as ?."""
    line = _CONTROL.sub("?", text)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}... ({len(line):,} characters)"


def excerpt(text: str) -> str:
    """Return a text in quotes, with controls as Python writes them; cut as `shortened` does where it is long."""
    return repr(text if len(text) <= LONGEST else shortened(text))


def has_control_characters(text: str) -> bool:
    """Tell whether a text has line breaks, terminal controls or bytes that are no text."""
    return _CONTROL.search(text) is not None


def check_digits(key: str, text: str) -> None:
    """Raise UserError for a number with underscores elsewhere than between thousands: 1_0 is 10 to Python alone."""
    for word in _APART.split(text) if "_" in text else ():
        if word and "_" in word and _says_a_number(word) and not _THOUSANDS.fullmatch(word):
            raise UserError(
                f"{shortened(f'{key}={text}')}: {shortened(word)} is no number as people write it; write "
                f"{shortened(word.replace('_', ''))}, or quotes around a text"
            )


def _says_a_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def dotted(path: Iterable[str | int]) -> str:
    """Return `claims[3].of` for a place in a document."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _in_yaml(value: object) -> str:
    """Return a value as YAML has it on one line, {'a': [true, null]}, where Python has words of its own."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_in_yaml(key)}: {_in_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_yaml, value))}]"
    return repr(value) if isinstance(value, str | bytes) else shown(value)


def short_repr(value: object) -> str:
    """Return a value of a document as an error shows it: as YAML has it, texts in quotes, cut if it is long."""
    text = _in_yaml(value)
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."
