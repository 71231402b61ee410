"""Running text, cut into windows: a network predicts every next character, or byte."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from normexp.config.identity import PUBLISHED
from normexp.data.base import Array, Data, Dataset, Split, check_fits
from normexp.data.files import cache
from normexp.data.files.content import content_of
from normexp.data.files.download import Remote, fetch
from normexp.data.files.members import existing_file
from normexp.errors import UserError, unknown

TOPICS, SHAKESPEARE = "topics", "tiny_shakespeare"
NAMES = (TOPICS, SHAKESPEARE)
UNITS = ("characters", "bytes")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how such a file begins
BYTES = tuple(f"byte {number}" for number in range(256))
FILE = Remote(
    "tinyshakespeare.txt",
    ("https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",),
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    key="dataset.file",
)


@dataclass(frozen=True, kw_only=True)
class Text(Dataset):
    """A text as windows of `context` characters (or bytes); the target at every position is the one that follows.

    Shapes: x float32 (N, context), the numbers of the characters; y int64 (N, context), those one place further on.
    Windows do not overlap. The last `test` characters are the test text, the `validation` characters before them the
    validation text; what is left of each text, shorter than a window, is dropped. Characters are numbered in the
    order of their code points, over the whole text.

    Args:
        name: `topics`, the help texts that come with Python itself, other ones with every version of Python; or
            `tiny_shakespeare`, 1,115,394 characters of his plays, which are downloaded once.
        file: a text of your own, in UTF-8, instead; of tiny_shakespeare, a local copy.
        unit: `characters`, or `bytes` of the UTF-8 form, of which there are always 256.
        context: characters that a network sees at once.
        subset: keep so many windows of the training text, its first; None keeps all.
        validation, test: in characters.

    Source: the standard library's `pydoc_data.topics`; Karpathy 2015, char-rnn, for tiny_shakespeare (public domain).
    """

    drawn = False

    name: str = TOPICS
    file: str | None = None
    unit: str = "characters"
    context: int = 64
    validation: int = 20_000
    test: int = 20_000

    def read(self, seed: int) -> Data:
        for key, value, allowed in (("dataset.name", self.name, NAMES), ("dataset.unit", self.unit, UNITS)):
            if value not in allowed:
                raise unknown(key, value, allowed)
        tokens, classes, width = self._encoded(self._bytes())
        if (held_out := self.validation + self.test) >= len(tokens):
            raise UserError(
                f"dataset.validation={self.validation} and dataset.test={self.test} leave none of the text's "
                f"{len(tokens)} {self.unit} to train on; give smaller ones or a longer text"
            )
        if (tokens == tokens[0]).all():
            raise UserError(f"dataset.file={self.file}: one of the {self.unit} throughout: nothing to learn")
        first, second = len(tokens) - held_out, len(tokens) - self.test
        parts = {"training": tokens[:first], "validation": tokens[first:second], "test": tokens[second:]}
        train, validation, test = (self._windows(name, part) for name, part in parts.items())
        return Data(train, validation, test, "language", classes, self._note(), bytes_per_token=width)

    def content(self) -> str:
        if self.file is None:
            return PUBLISHED if self.name == SHAKESPEARE else hashlib.sha256(topics()).hexdigest()
        found = content_of(self._copy(self.file))
        return PUBLISHED if self.name == SHAKESPEARE else found

    def find(self) -> bool:
        if self.file is not None:
            return bool(self._copy(self.file))
        return self.name != SHAKESPEARE or (cache.downloads("text") / FILE.name).is_file()

    def fetch(self) -> None:
        self._bytes()

    def _bytes(self) -> bytes:
        if self.file is not None:
            return self._copy(self.file).read_bytes()
        return fetch(FILE, cache.downloads("text")).read_bytes() if self.name == SHAKESPEARE else topics()

    def _copy(self, file: str) -> Path:
        """Return the path of `dataset.file`. Raises UserError for one that is not the text of its name."""
        path = text_path(file)
        if self.name == SHAKESPEARE and (found := content_of(path)) != FILE.sha256:
            raise UserError(
                f"dataset.file={file}: is not {SHAKESPEARE} ({FILE.kind} {found[:12]}..., expected "
                f"{FILE.sha256[:12]}...); a text of your own has no name: leave out dataset.name={SHAKESPEARE}"
            )
        return path

    def _encoded(self, raw: bytes) -> tuple[Array, tuple[str, ...], float]:
        """Return the numbers of all tokens, what they stand for, and how many bytes a token has on average."""
        if self.unit == "bytes":
            return np.frombuffer(raw, np.uint8), BYTES, 1.0
        text = self._decoded(raw)
        points, tokens = np.unique(np.frombuffer(text.encode("utf-32-le"), np.uint32), return_inverse=True)
        return tokens, tuple(map(chr, points.tolist())), len(text.encode()) / max(1, len(text))

    def _decoded(self, raw: bytes) -> str:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            how = " (but UTF-16, it seems: save it as UTF-8)" if raw[:2] in UTF_16 else ""
            raise self._no_text(f"byte {error.start} is not UTF-8{how}") from None
        if "\0" in text:
            raise self._no_text(f"character {text.index(chr(0))} is 0")
        return text

    def _no_text(self, why: str) -> UserError:
        return UserError(f"dataset.file={self.file}: is not a text, {why}; dataset.unit=bytes reads any file")

    def _windows(self, name: str, tokens: Array) -> Split:
        count = max(0, len(tokens) - 1) // self.context
        if count == 0 and (name != "validation" or self.validation):
            raise UserError(
                f"dataset.context={self.context}: the {name} text has {len(tokens)} {self.unit}, and a window and what "
                f"follows it take {self.context + 1}; give a smaller dataset.context or a longer text"
            )
        check_fits(3 * len(tokens), f"dataset=text with {len(tokens):,} {self.unit}")
        end, shape = count * self.context, (count, self.context)
        x, y = tokens[:end].astype(np.float32), tokens[1 : end + 1].astype(np.int64)
        return Split(x.reshape(shape), y.reshape(shape))

    def _note(self) -> str:
        if self.file is not None:
            return ""
        return "tiny Shakespeare" if self.name == SHAKESPEARE else "Python's help topics, other ones with every version"


def topics() -> bytes:
    """Return the help texts that come with Python, in the order of their names.

    Raises: UserError where this Python has none.
    """
    try:
        from pydoc_data.topics import topics as texts
    except ImportError:
        raise UserError("dataset.name=topics: this Python has no help texts; give dataset.file=PATH") from None
    return "\n".join(text for _, text in sorted(texts.items())).encode()


def decode(classes: tuple[str, ...], tokens: Any) -> str:
    """Return the text of token numbers; bytes that are no UTF-8 become the replacement character."""
    if classes == BYTES:
        return bytes(int(token) for token in tokens).decode("utf-8", errors="replace")
    return "".join(classes[int(token)] for token in tokens)


def encode(classes: tuple[str, ...], text: str) -> list[int]:
    """Return the token numbers of a text. Raises UserError for a character that the classes do not have.

    A byte that is no UTF-8, which Python reads from a command line as a character of its own, is that byte.
    """
    if classes == BYTES:
        try:
            return list(text.encode(errors="surrogateescape"))
        except UnicodeEncodeError as error:
            raise UserError(f"{text[error.start]!r} is no character") from None
    numbers = {character: number for number, character in enumerate(classes)}
    for character in text:
        if character not in numbers:
            raise UserError(f"{character!r} does not occur in the text, which has {len(classes)} characters")
    return [numbers[character] for character in text]


def text_path(file: str) -> Path:
    """Return the path of `dataset.file`. Raises UserError where there is no such file."""
    return existing_file(file, ".txt", "a text file")
