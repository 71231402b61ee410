"""What composing refuses is one line that names what was given and a way out."""

from collections.abc import Sequence

import pytest

from normexp.config import compose
from normexp.errors import UserError


def assert_refused(overrides: Sequence[str], named: str, way_out: str) -> None:
    with pytest.raises(UserError) as caught:
        compose(overrides)
    message = str(caught.value)
    assert named in message
    assert way_out in message
    assert "\n" not in message
