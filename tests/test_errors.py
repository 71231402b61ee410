"""What the errors of a user say, and what is quoted of the errors of others."""

import pytest

from normexp.errors import first_line, kind_and_line


@pytest.mark.parametrize(
    ("error", "line", "with_kind"),
    [
        (ValueError("\n too long\nfor a line\n"), "too long", "ValueError: too long"),
        (KeyError(), "KeyError", "KeyError: no message"),
        (RuntimeError("  \n"), "RuntimeError", "RuntimeError: no message"),
    ],
)
def test_an_error_of_others_is_quoted_in_one_line(error, line, with_kind):
    assert (first_line(error), kind_and_line(error)) == (line, with_kind)
