"""Sequences of numbers: adding, copy memory, MNIST pixel by pixel; which models, inputs and masks fit them."""

from pathlib import Path

import numpy as np
import pytest
from one_line import one_line_error

from normexp.config import compose
from normexp.data.adding import Adding
from normexp.data.cloze import Cloze
from normexp.data.copying import Copying
from normexp.data.inputs import Identity, Standardize
from normexp.data.mnist import Mnist
from normexp.data.pixel_sequences import SequentialMnist, averaged, pixel_order
from normexp.data.variable_length import draw_lengths, masked
from normexp.errors import Impossible, UserError

SMALL = {"examples": 300, "test": 100, "validation": 50}
PINNED = {
    "adding": (Adding(**SMALL), "af12e384e7ec734fba17f5294c1568f63f328e71fdcadc5167f4fef9ff3bea59"),
    "copy": (Copying(**SMALL), "b92a85e7958a172507c056e30550dd486a89a4a1f6e7481567a3af159895c72c"),
}


@pytest.mark.parametrize(("dataset", "expected"), PINNED.values(), ids=PINNED)
def test_generated_sequences_are_what_they_always_were(dataset: Adding | Copying, expected: str) -> None:
    assert dataset.load(0).fingerprint == expected


@pytest.mark.parametrize("kind", [Adding, Copying, Cloze])
def test_generated_training_split_does_not_depend_on_the_test_split(kind: type[Adding | Copying | Cloze]) -> None:
    small, large = (kind(examples=50, test=test, validation=0).load(0) for test in (10, 100))
    np.testing.assert_array_equal(small.train.x, large.train.x)


def test_masked_sequences_are_zero_from_their_end_on() -> None:
    x = masked(np.ones((2, 3, 2), np.float32), np.array([1, 3]))
    assert x.tolist() == [[[1, 1, 1], [0, 0, 0], [0, 0, 0]], [[1, 1, 1]] * 3]


def test_drawn_lengths_reach_both_ends() -> None:
    assert set(draw_lengths(np.random.default_rng(0), 200, 3, 6).tolist()) == {3, 4, 5, 6}


def test_adding_asks_for_the_sum_of_the_marked_numbers() -> None:
    data = Adding(length=20, **SMALL).load(0)
    assert (data.input_shape, data.num_outputs, data.train.y.dtype) == ((20, 2), 1, np.float32)
    for split in (data.train, data.validation, data.test):
        numbers, marks = split.x[..., 0], split.x[..., 1]
        assert set(np.unique(marks)) == {0, 1}
        assert (marks[:, :10].sum(axis=1) == 1).all()
        assert (marks[:, 10:].sum(axis=1) == 1).all()
        sums = [row[mark == 1].sum() for row, mark in zip(numbers, marks, strict=True)]
        np.testing.assert_allclose(split.y[:, 0], sums, rtol=1e-6)


def test_adding_is_no_better_than_a_sixth_without_memory() -> None:
    y = Adding(examples=20_000, length=4, validation=0).load(0).train.y
    assert ((y - 1) ** 2).mean() == pytest.approx(1 / 6, abs=0.004)


def test_adding_of_variable_length_keeps_marks_inside_and_padding_zero() -> None:
    train = Adding(length=30, min_length=2, **SMALL).load(0).train
    numbers, marks, mask = np.moveaxis(train.x, 2, 0)
    lengths = mask.sum(axis=1).astype(int)
    assert (lengths.min(), lengths.max()) == (2, 30)
    assert (np.diff(mask, axis=1) <= 0).all()  # nothing goes on after the padding has begun
    assert not numbers[mask == 0].any()
    assert (marks * mask).sum(axis=1).tolist() == [2] * len(train)
    first, last = marks.argmax(axis=1), 29 - marks[:, ::-1].argmax(axis=1)
    assert (first < lengths // 2).all()
    assert (last >= lengths // 2).all()


def test_adding_tests_on_longer_sequences() -> None:
    data = Adding(length=10, min_length=5, test_length=40, **SMALL).load(0)
    assert (data.train.x.shape[1:], data.validation.x.shape[1:], data.test.x.shape[1:]) == ((10, 3), (10, 3), (40, 3))
    assert (data.test.x[..., 2] == 1).all()


@pytest.mark.parametrize("kind", [Adding, Copying])
def test_mask_of_equal_lengths_is_one_everywhere(kind: type[Adding] | type[Copying]) -> None:
    with_mask, without = (kind(mask=mask, **SMALL).load(0).train.x for mask in (True, False))
    np.testing.assert_array_equal(with_mask[..., :-1], without)
    assert (with_mask[..., -1] == 1).all()


def test_copy_asks_for_the_symbol_that_the_cue_names() -> None:
    data = Copying(items=3, symbols=4, delay=5, **SMALL).load(0)
    assert (data.input_shape, data.classes) == ((9, 8), ("0", "1", "2", "3"))
    for split in (data.train, data.test):
        assert (split.x.sum(axis=2) == 1).all()
        steps = split.x.argmax(axis=2)
        assert (steps[:, 3:8] == 4).all()  # blanks
        asked = steps[:, 8] - 5
        assert set(asked) == {0, 1, 2}
        assert split.y.tolist() == [row[one] for row, one in zip(steps, asked, strict=True)]
        assert set(split.y) == {0, 1, 2, 3}


def test_copy_of_variable_delay_ends_with_the_cue() -> None:
    data = Copying(items=3, symbols=4, delay=9, min_delay=0, test_delay=20, **SMALL).load(0)
    assert (data.train.x.shape[1:], data.test.x.shape[1:]) == ((13, 9), (24, 9))
    lengths = data.train.x[..., -1].sum(axis=1).astype(int)
    assert set(lengths) == set(range(4, 14))
    last = data.train.x[np.arange(len(lengths)), lengths - 1, :-1].argmax(axis=1)
    assert (last >= 5).all()
    assert not data.train.x[data.train.x[..., -1] == 0].any()


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (Adding(min_length=101), r"dataset\.min_length=101: must be at most dataset\.length=100"),
        (Copying(min_delay=7, delay=6), r"dataset\.min_delay=7: must be at most dataset\.delay=6"),
    ],
)
def test_shortest_above_longest_is_refused(dataset: Adding | Copying, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        dataset.load(0)


def sequential(folder: Path, **options: object) -> SequentialMnist:
    return SequentialMnist(archive=str(folder), validation=5, **{"side": 4, **options})


def test_sequential_mnist_reads_rows_from_left_to_right(mnist_folder: Path) -> None:
    data, images = sequential(mnist_folder).load(0), Mnist(archive=str(mnist_folder), validation=5).load(0)
    assert (data.input_shape, data.train.x.dtype, data.note) == ((16, 1), np.uint8, images.note)
    for split, same in ((data.train, images.train), (data.validation, images.validation), (data.test, images.test)):
        assert split.x[..., 0].tolist() == [image.ravel().tolist() for image in same.x]
        np.testing.assert_array_equal(split.y, same.y)


def test_pixel_order_follows_the_split_seed_alone() -> None:
    first, again, other = (pixel_order("permuted", 784, seed).tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_pixel_order_of_the_published_code_repeats_pixels() -> None:
    """The first numbers and the count as reproduced from that code (Cooijmans et al., default seed 1)."""
    pixels = pixel_order("with_replacement", 784, seed=5)
    assert pixels[:12].tolist() == [37, 235, 72, 767, 715, 645, 144, 129, 583, 749, 508, 390]
    assert len(set(pixels)) == 501


def test_sequential_mnist_says_what_is_not_the_usual_data(mnist_folder: Path) -> None:
    note = sequential(mnist_folder, order="with_replacement", side=2).load(0).note
    seen = len(set(pixel_order("with_replacement", 4, 0)))
    of_copy = "other images or labels than MNIST was published with"
    assert note == f"{of_copy}; images averaged to 2 x 2; pixels drawn with replacement, {seen} of 4 seen"


def test_averaged_images_are_rounded_means_of_blocks() -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1), dtype=np.uint8)
    for side in (28, 14, 7, 1):
        block = 28 // side
        means = [
            [
                image[block * r : block * (r + 1), block * c : block * (c + 1)].mean()
                for r in range(side)
                for c in range(side)
            ]
            for image in images
        ]
        np.testing.assert_array_equal(averaged(images, side).reshape(3, -1), np.floor(np.array(means) + 0.5))


def test_input_normalization_takes_pixels_of_all_steps_together(mnist_folder: Path) -> None:
    x = sequential(mnist_folder).load(0).train.x
    transform = Standardize().fit(x)
    assert np.shape(transform.scale) == (1,)
    assert transform.apply(x).mean() == pytest.approx(0, abs=1e-5)
    assert transform.apply(x).std() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(Identity().fit(x).apply(x), x / np.float32(255), rtol=1e-6)


REFUSED = {
    "images only": (["dataset=adding", "model=cnn"], r"model=cnn needs images, but dataset=adding holds sequences; "),
    "one row": (["dataset=adding", "model=mlp"], r"model=mlp needs images or tables, .*use model=lstm_classifier"),
    "words": (["dataset=babi", "model=lstm_classifier"], r"needs sequences, but dataset=babi holds texts"),
    "an image": (
        ["model=lstm_classifier"],
        r"needs sequences, but dataset=digits holds images; use model=linear or mod",
    ),
    "inputs": (
        ["dataset=adding", "model=lstm_classifier", "inputs=standardize"],
        r"inputs=standardize does not fit dataset=adding: .*=none",
    ),
    "zca": (["dataset=sequential_mnist", "model=lstm_classifier", "inputs=zca"], r"inputs=zca does not fit"),
    "crop": (["dataset=adding", "model=lstm_classifier", "dataset.crop=1"], r"dataset=adding holds sequences; leave"),
}
ADDING = ["dataset=adding", "model=lstm_classifier", "inputs=none"]
REFUSED |= {
    "mask unused": ([*ADDING, "dataset.mask=true"], r"dataset\.mask has a mask .*; add model\.masked=true"),
    "mask of lengths": ([*ADDING, "dataset.min_length=50"], r"dataset\.min_length has a mask"),
    "no mask": ([*ADDING, "model.masked=true"], r"dataset=adding has no mask as it is; leave it out"),
}


@pytest.mark.parametrize(("overrides", "expected"), REFUSED.values(), ids=REFUSED)
def test_choices_that_do_not_fit_sequences_are_refused(overrides: list[str], expected: str) -> None:
    with one_line_error(expected, kind=Impossible):
        compose(overrides)


def test_choices_that_fit_sequences_compose() -> None:
    compose(ADDING)
    compose([*ADDING, "dataset.min_length=50", "model.masked=true"])
    compose(["dataset=sequential_mnist", "model=lstm_classifier"])


@pytest.mark.data
def test_sequential_mnist_of_the_real_files(shared_data: Path) -> None:
    options = {"archive": str(shared_data / "MNIST" / "raw"), "validation": 10_000}
    data = SequentialMnist(order="with_replacement", **options).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (50_000, 10_000, 10_000)
    assert (data.input_shape, data.note) == ((784, 1), "pixels drawn with replacement, 501 of 784 seen")
    small, full = (SequentialMnist(side=side, **options).load(0).test.x for side in (7, 28))
    assert small.shape == (10_000, 49, 1)
    assert small.mean() == pytest.approx(full.mean(), abs=0.1)
