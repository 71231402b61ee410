"""The digits as sequences: the same images as `digits`, and MNIST's orders of pixels."""

import numpy as np
import pytest

from normexp.data.digits import Digits
from normexp.data.pixel_sequences import SequentialDigits, pixel_order
from normexp.errors import UserError


def test_sequential_digits_are_the_digits_in_the_order_asked_for() -> None:
    images = Digits().load(0)
    for order in ("rows", "permuted", "with_replacement"):
        data, pixels = SequentialDigits(order=order).load(0), pixel_order(order, 64, 0)
        assert (data.input_shape, data.train.x.dtype, data.classes) == ((64, 1), np.uint8, images.classes)
        for split, same in ((data.train, images.train), (data.validation, images.validation), (data.test, images.test)):
            np.testing.assert_array_equal(split.x[..., 0], same.x.reshape(len(same), 64)[:, pixels])
            np.testing.assert_array_equal(split.y, same.y)


def test_sequential_digits_feed_averaged_rows() -> None:
    data, images = SequentialDigits(side=4, row_wise=True).load(0), Digits().load(0)
    blocks = images.test.x.reshape(len(images.test), 4, 2, 4, 2).mean((2, 4))
    assert data.input_shape == (4, 4)
    assert np.abs(data.test.x - blocks).max() <= 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [({"order": "permutted"}, "did you mean permuted"), ({"side": 3}, "must divide images of 8 x 8")],
)
def test_sequential_digits_refuse_in_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SequentialDigits(**options).load(0)
