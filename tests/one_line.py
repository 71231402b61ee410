"""What is refused is refused in one line; of what composing refuses, it names what was given and a way out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from normexp.config import compose
from normexp.errors import UserError


@contextmanager
def one_line_error(match: str | None = None, kind: type[UserError] = UserError) -> Iterator[pytest.ExceptionInfo]:
    """Hold what is done to an error of one line, in which a regular expression is found."""
    with pytest.raises(kind, match=match) as error:
        yield error
    assert "\n" not in str(error.value)


def assert_refused(overrides: Sequence[str], named: str, way_out: str) -> None:
    with one_line_error() as error:
        compose(overrides)
    message = str(error.value)
    assert named in message
    assert way_out in message
