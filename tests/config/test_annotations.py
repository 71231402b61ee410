"""What a part of somebody's own gets: values as its parameters are annotated."""

from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from normexp.config.annotations import annotated
from normexp.config.instantiate import instantiate
from normexp.errors import UserError


class Way(Enum):
    ROWS = "rows"
    COLUMNS = "columns"


class Word(StrEnum):
    LOW = "low"


def part(
    way: Way = Way.ROWS,
    word: Word | None = None,
    pair: "tuple[float, ...]" = (),
    file: Path = Path(),
    share: float = 0.5,
    table: dict[Any, int] | None = None,
    weight: Tensor | None = None,
    plain=None,
) -> Way:
    return way


@pytest.mark.parametrize(
    ("key", "given", "got"),
    [
        ("way", "columns", Way.COLUMNS),
        ("word", "low", Word.LOW),
        ("word", None, None),
        ("pair", [1, 2.5], (1, 2.5)),
        ("file", "a/b", Path("a/b")),
        ("share", 1, 1),
        ("table", {1: 2}, {1: 2}),
        ("weight", "ones", "ones"),
        ("plain", [1], [1]),
    ],
)
def test_a_value_comes_as_it_is_annotated(key: str, given: Any, got: Any) -> None:
    """`self.way is Way.COLUMNS` was never so: the part had the word, and went the other way without a word."""
    read = annotated("my.part", part, {key: given})
    assert read == {key: got}
    assert type(read[key]) is type(got)


def test_a_part_is_called_with_it() -> None:
    assert instantiate({"_target_": f"{__name__}.part", "way": "columns"}, [__name__]) is Way.COLUMNS


def test_a_word_that_an_enum_does_not_have_is_told_with_those_that_it_has() -> None:
    with pytest.raises(UserError, match=r"^my\.part: way=diagonal: must be rows or columns$"):
        annotated("my.part", part, {"way": "diagonal"})
