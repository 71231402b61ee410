"""Batches: gathers, crops and flips against a loop over single images; any step can be the first."""

from itertools import chain, islice

import numpy as np
import pytest
import torch

from normexp.data.inputs import ZCA, Center, PerImage, Standardize
from normexp.training import batches as module
from normexp.training.batches import Examples, TrainingBatches, is_large, sequential_batches

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (23, 6, 5, 3), np.uint8)
LABELS = np.arange(23)
each_augmentation = pytest.mark.parametrize(
    ("crop", "flip"), [(0, False), (2, False), (0, True), (1, True)], ids=["plain", "crop", "flip", "both"]
)
TRANSFORMS = [each.fit(IMAGES) for each in (Standardize(), Center(per="feature"), ZCA(eps=0.01), PerImage())]
each_transform = pytest.mark.parametrize("transform", TRANSFORMS, ids=["channel", "feature", "zca", "image"])
CHANNEL = Standardize().fit(IMAGES)


def examples(crop: int = 0, flip: bool = False, transform=CHANNEL, count: int = 23) -> Examples:
    return Examples(IMAGES[:count], LABELS[:count], transform, CPU, crop, flip)


def naive(image: np.ndarray, transform, crop: int, shift_y: int, shift_x: int, mirrored: bool) -> np.ndarray:
    """One image: mirror, pad, cut, normalize; channels first. (A full matrix is applied first, as stored.)"""
    matrix = not hasattr(transform, "scale")
    image = transform.apply(image[None])[0] if matrix else image
    image = image[:, ::-1] if mirrored else image
    padded = np.pad(image, ((crop, crop), (crop, crop), (0, 0)))
    height, width = image.shape[:2]
    cut = padded[shift_y : shift_y + height, shift_x : shift_x + width]
    return (cut if matrix else transform.apply(cut[None])[0]).transpose(2, 0, 1)


@each_transform
@each_augmentation
def test_batches_augmented_equals_image_by_image(crop, flip, transform):
    index = torch.tensor([3, 3, 0, 22, 7])
    shift_y, shift_x = (
        torch.tensor([int(v) % (2 * crop + 1) for v in row]) for row in ([0, 1, 2, 3, 4], [4, 4, 0, 1, 2])
    )
    mirrored = torch.tensor([0, 1, 1, 0, 1]) * int(flip)
    x, y = examples(crop, flip, transform).augmented(index, shift_y, shift_x, mirrored)
    choices = zip(index, shift_y, shift_x, mirrored, strict=True)
    expected = [naive(IMAGES[i], transform, crop, int(dy), int(dx), bool(m)) for i, dy, dx, m in choices]
    np.testing.assert_allclose(x.numpy(), np.stack(expected), atol=1e-5)
    assert y.tolist() == index.tolist()


@each_transform
@each_augmentation
def test_batches_take_gives_the_images_as_they_are(crop, flip, transform):
    x, _ = examples(crop, flip, transform).take(torch.arange(23))
    np.testing.assert_allclose(x.numpy(), transform.apply(IMAGES).transpose(0, 3, 1, 2), atol=1e-5)


@pytest.mark.parametrize(("count", "found"), [(0, 0), (5, 5), (23, 23), (24, 23)])
def test_the_first_examples_are_all_where_there_are_fewer(count, found):
    x, y = examples(2, True).first(count)
    assert (len(x), len(y)) == (found, found)
    torch.testing.assert_close(x, examples(2, True).take(torch.arange(found))[0])


@each_augmentation
def test_batches_are_channels_last_float32(crop, flip):
    x, _ = next(TrainingBatches(examples(crop, flip), 8, seed=0).from_step(0))
    assert x.dtype == torch.float32
    assert x.shape == (8, 3, 6, 5)
    assert x.is_contiguous(memory_format=torch.channels_last)


def test_batches_normalized_once_equal_those_normalized_each_time():
    once, each_time = examples(), Examples(IMAGES, LABELS, CHANNEL, CPU, large=True)
    assert (once.x.dtype, each_time.x.dtype) == (torch.float32, torch.uint8)
    for (one, _), (other, _) in zip(sequential_batches(once, 7), sequential_batches(each_time, 7), strict=True):
        assert torch.equal(one, other)


@each_augmentation
@pytest.mark.parametrize("step", [0, 1, 2, 3, 5, 6, 13])
def test_batches_from_a_step_equal_those_of_skipping(step, crop, flip):
    stream = TrainingBatches(examples(crop, flip), 8, seed=0)
    assert stream.steps_per_epoch == 2
    for one, other in zip(islice(stream.from_step(step), 4), islice(stream.from_step(0), step, step + 4), strict=True):
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])


def seen(stream: TrainingBatches, start: int, count: int) -> list[list[int]]:
    return [y.tolist() for _, y in islice(stream.from_step(start), count)]


def test_batches_of_an_epoch_hold_each_example_at_most_once_and_drop_the_rest():
    epoch = seen(TrainingBatches(examples(), 5, seed=0), 0, 4)
    assert [len(batch) for batch in epoch] == [5, 5, 5, 5]
    assert len(set(chain(*epoch))) == 20


def test_batches_of_another_epoch_or_seed_come_in_another_order():
    stream = TrainingBatches(examples(), 23, seed=0)
    orders = [*seen(stream, 0, 3), *seen(TrainingBatches(examples(), 23, seed=1), 0, 1)]
    assert len({tuple(order) for order in orders}) == 4
    assert all(sorted(order) == list(range(23)) for order in orders)


def test_batches_of_a_split_smaller_than_the_batch_are_the_whole_split():
    stream = TrainingBatches(examples(count=5), 64, seed=0)
    assert (stream.batch_size, stream.steps_per_epoch) == (5, 1)
    assert [sorted(batch) for batch in seen(stream, 0, 3)] == [[0, 1, 2, 3, 4]] * 3


def test_batches_crop_and_flip_take_every_choice():
    stream = TrainingBatches(examples(1, True), 23, seed=0)
    drawn = torch.cat([torch.stack(stream._augmentation(epoch, CPU)) for epoch in range(40)], dim=1)
    kinds, counts = torch.unique(drawn, dim=1, return_counts=True)
    assert kinds.shape[1] == 3 * 3 * 2
    assert counts.min() > 0.5 * counts.float().mean()


def test_batches_first_are_the_first_of_the_first_epoch_unaugmented():
    stream = TrainingBatches(examples(2, True), 5, seed=0)
    x, y = stream.first(10)
    assert y.tolist() == list(chain(*seen(stream, 0, 2)))
    np.testing.assert_allclose(x.numpy(), CHANNEL.apply(IMAGES[y.numpy()]).transpose(0, 3, 1, 2), atol=1e-5)
    assert len(stream.first(99)[1]) == 23


def test_batches_sequential_batches_hold_every_example_once():
    assert [y.tolist() for _, y in sequential_batches(examples(1, True), 10)] == [
        list(range(10)),
        list(range(10, 20)),
        [20, 21, 22],
    ]


def test_batches_of_a_table_are_rows():
    rows = RNG.normal(size=(9, 4)).astype(np.float32)
    targets = RNG.normal(size=(9, 2)).astype(np.float32)
    table = Examples(rows, targets, Standardize().fit(rows), CPU)
    x, y = table.take(torch.tensor([2, 0]))
    np.testing.assert_allclose(x.numpy(), ((rows - rows.mean(0)) / rows.std(0))[[2, 0]], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(y.numpy(), targets[[2, 0]])


def test_batches_of_many_images_stay_on_the_disk(tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    stored = Examples(mapped, LABELS, CHANNEL, CPU, large=True)
    assert stored.x.data_ptr() == mapped.ctypes.data
    assert torch.equal(stored.take(torch.arange(3))[0], examples().take(torch.arange(3))[0])


def test_batches_is_large_where_all_splits_together_are_large(monkeypatch):
    monkeypatch.setattr(module, "_FLOAT_BYTES", 8 * IMAGES.size)
    assert not is_large([IMAGES, IMAGES])
    assert is_large([IMAGES, IMAGES, IMAGES[:1]])


def test_batches_are_normalized_in_parts_as_at_once(monkeypatch):
    at_once = [examples(transform=transform).x for transform in TRANSFORMS]
    monkeypatch.setattr(module, "_CHUNK", 4)
    for transform, expected in zip(TRANSFORMS, at_once, strict=True):
        torch.testing.assert_close(examples(transform=transform).x, expected, rtol=0, atol=2e-5)


def test_batches_read_a_memory_map_without_a_warning(tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    stored = Examples(mapped, LABELS, CHANNEL, CPU, crop=1)
    assert torch.equal(stored.take(torch.arange(3))[0], examples(1).take(torch.arange(3))[0])


def test_batches_take_the_room_of_the_images_on_another_device():
    """Windows over the images overlap; copied to a GPU one by one they took 20 GB for CIFAR-10."""
    on_cpu = examples(2, True)
    elsewhere = Examples(IMAGES, LABELS, CHANNEL, torch.device("meta"), 2, True)
    assert elsewhere.x.shape == on_cpu.x.shape
    assert elsewhere.x.untyped_storage().nbytes() == on_cpu.x.untyped_storage().nbytes() == 2 * 23 * 10 * 9 * 3
