"""CIFAR-10: the original pickles, and copies made of images."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from normexp.data import cifar10
from normexp.data.cifar10 import BATCHES, CLASSES, Cifar10
from normexp.data.files.content import sha256_of
from normexp.data.images.cifar_batches import read_pickled_batch
from normexp.errors import UserError


@pytest.fixture
def as_original(cifar_archive: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Declare the tiny archive to be the original one."""
    monkeypatch.setattr(cifar10, "ORIGINALS", (sha256_of(cifar_archive),))
    return cifar_archive


@pytest.fixture
def images(encode: Callable[..., bytes]) -> dict[str, bytes]:
    """Two training images and one test image of every class."""
    return {
        f"{split}/{kind}/{number:04}.png": encode(20 * label + number, (32, 32))
        for split, count in (("train", 2), ("test", 1))
        for label, kind in enumerate(CLASSES)
        for number in range(count)
    }


def test_read_batch_puts_planes_into_channels() -> None:
    planes = np.arange(3072, dtype=np.uint16).astype(np.uint8)[None]
    pixels, labels = read_pickled_batch(pickle.dumps({"data": planes, "labels": [3]}), "b")
    assert pixels.shape == (1, 32, 32, 3)
    assert pixels[0, 2, 5].tolist() == [planes[0, 1024 * c + 2 * 32 + 5] for c in range(3)]
    assert labels.tolist() == [3]


def test_read_batch_reads_what_python_2_wrote() -> None:
    """Opcodes of protocol 2 as cPickle wrote them: byte strings, and numpy.core's old name."""
    dtype = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNN" + 2 * b"J\xff\xff\xff\xff" + b"K\x00tb"
    state = b"(K\x01K\x01M\x00\x0c\x86" + dtype
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    raw = b"\x89T" + (3072).to_bytes(4, "little") + bytes([200]) * 3072 + b"tb"
    batch = b"\x80\x02}(U\x04data" + array + state + raw + b"U\x06labels]K\x06aU\x0bbatch_labelU\x01xu."
    pixels, labels = read_pickled_batch(batch, "b")
    assert (pixels == 200).all()
    assert labels.tolist() == [6]


class Malicious:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_read_batch_runs_no_code(protocol: int, tmp_path: Path) -> None:
    evil = pickle.dumps({"data": Malicious(str(tmp_path / "evil")), "labels": []}, protocol)
    with pytest.raises(UserError, match=r"b: not a readable CIFAR-10 batch \(it names \w+\.mkdir"):
        read_pickled_batch(evil, "b")
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["eval", "getattr", "__import__"])
def test_read_batch_refuses_builtins(name: str) -> None:
    with pytest.raises(UserError, match=f"it names builtins.{name}, which is refused"):
        read_pickled_batch(f"cbuiltins\n{name}\n.".encode(), "b")


@pytest.mark.parametrize("data", [b"", b"\x80\x04", b"garbage", pickle.dumps([1]), pickle.dumps({"data": 1})])
def test_read_batch_refuses_what_is_no_batch(data: bytes) -> None:
    with pytest.raises(UserError, match=r"^b: not a "):
        read_pickled_batch(data, "b")


@pytest.mark.parametrize("labels", [[10], [0, 1], ["0"], None])
def test_read_batch_refuses_labels_that_do_not_fit(labels: object) -> None:
    batch = {"data": np.zeros((1, 3072), np.uint8), "labels": labels}
    with pytest.raises(UserError, match=r"data is uint8 \(1, 3072\), expected"):
        read_pickled_batch(pickle.dumps(batch, 4), "b")


def test_cifar10_opens_the_original_archive(as_original: Path) -> None:
    data = Cifar10(archive=str(as_original), validation=10).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (90, 10, 20)
    assert (data.input_shape, data.note, data.classes) == ((3, 32, 32), "", CLASSES)


def test_cifar10_keeps_the_original_order(as_original: Path) -> None:
    train = Cifar10(archive=str(as_original), validation=0).load(0).train
    assert train.x[::20, 0, 0, 0].tolist() == [1, 2, 3, 4, 5]  # the number of the batch


def test_cifar10_keeps_a_balanced_part_of_the_test_images(as_original: Path) -> None:
    whole = Cifar10(archive=str(as_original), validation=0).load(0).test
    part = Cifar10(archive=str(as_original), validation=0, test=10).load(0).test
    assert sorted(part.y.tolist()) == list(range(10))
    assert all(any((image == other).all() for other in whole.x) for image in part.x)
    with pytest.raises(UserError, match=r"dataset\.test=21: the test split has 20 images"):
        Cifar10(archive=str(as_original), test=21).load(0)


def test_cifar10_refuses_another_checksum(cifar_archive: Path) -> None:
    with pytest.raises(UserError, match=r"c10\.tar\.gz: SHA-256 [0-9a-f]{64}, expected 6d958be0.* or c4a38c50"):
        Cifar10(archive=str(cifar_archive)).load(0)


def test_cifar10_names_a_missing_batch(write_tar: Callable[..., Path]) -> None:
    path = write_tar({"cifar-10-batches-py/readme.html": b"hello"})
    with pytest.raises(UserError, match="data_batch_1 is missing"):
        cifar10.build_original(path)


def test_cifar10_refuses_unknown_content(write_tar: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match=r"unknown content; give the original cifar-10-python\.tar\.gz"):
        Cifar10(archive=str(write_tar({"en/qa1.txt": b"Mary went"}))).load(0)


def test_cifar10_refuses_a_file_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UserError, match=r"notes\.txt: neither a folder nor a zip, tar or tar\.gz archive"):
        Cifar10(archive=str(tmp_path / "notes.txt")).load(0)


def test_cifar10_names_a_missing_path(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"dataset\.archive=.*nowhere\.tar\.gz: no such file or folder"):
        Cifar10(archive=str(tmp_path / "nowhere.tar.gz")).load(0)


def test_cifar10_opens_a_copy_of_images(images: dict[str, bytes], write_tar: Callable[..., Path]) -> None:
    data = Cifar10(archive=str(write_tar(images)), validation=0).load(0)
    assert data.train.y.tolist() == [*range(10), *range(10)]
    red = [20 * label + number for number in (0, 1) for label in range(10)]
    assert data.train.x[:, 0, 0, 0].tolist() == red


def test_cifar10_says_that_it_is_a_copy_and_not_all_of_it(
    images: dict[str, bytes], write_tar: Callable[..., Path]
) -> None:
    note = Cifar10(archive=str(write_tar(images)), validation=0).load(0).note
    assert note == "CIFAR-10, PNG copy, 20 + 10 of 50,000 + 10,000 images"


def test_cifar10_decodes_a_copy_once(
    images: dict[str, bytes],
    write_tar: Callable[..., Path],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("INFO", logger="normexp")
    monkeypatch.setattr("normexp.data.images.tree.LONG", 0)
    archive = str(write_tar(images))
    for _ in range(2):
        Cifar10(archive=archive, validation=0).load(0)
    assert caplog.messages == [f"decoding the images of {archive}, once"]


def test_cifar10_refuses_another_class(
    images: dict[str, bytes], encode: Callable[..., bytes], write_tar: Callable[..., Path]
) -> None:
    more = {f"{split}/apple/0.png": encode(1, (32, 32)) for split in ("train", "test")}
    with pytest.raises(UserError, match=r"class 'apple' is none of CIFAR-10's"):
        Cifar10(archive=str(write_tar(images | more))).load(0)


def test_cifar10_refuses_another_size(encode: Callable[..., bytes], write_tar: Callable[..., Path]) -> None:
    small = {f"{split}/{kind}/0.png": encode(1, (28, 28)) for split in ("train", "test") for kind in CLASSES}
    with pytest.raises(UserError, match="images of 28 x 28 pixels, expected 32 x 32"):
        Cifar10(archive=str(write_tar(small))).load(0)


@pytest.mark.parametrize("share", [0.3, 0.99])
def test_cifar10_finds_a_truncated_archive_before_decoding(
    share: float, images: dict[str, bytes], write_tar: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tar(images)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    monkeypatch.setattr("normexp.data.images.tree.decode", lambda *args: pytest.fail("decoded"))
    with pytest.raises(UserError, match=r"damaged or truncated archive of \d+ bytes"):
        Cifar10(archive=str(path)).load(0)


def test_batches_are_the_original_ones() -> None:
    assert [len(batches) for batches in BATCHES.values()] == [5, 1]


@pytest.mark.data
@pytest.mark.slow
def test_cifar10_jpeg_copy_is_complete(shared_data: Path) -> None:
    data = Cifar10(archive=str(shared_data / "cifar10-jpeg75.tar.gz")).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (45_000, 5_000, 10_000)
    assert np.bincount(data.test.y).tolist() == [1000] * 10
    assert data.note == "CIFAR-10, JPEG copy"
