"""The idx format, and MNIST from a local copy."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from normexp.data.fashion_mnist import FashionMnist
from normexp.data.files.cache import Content
from normexp.data.images import idx_images
from normexp.data.images.idx import read_idx
from normexp.data.images.idx_images import FILES
from normexp.data.mnist import Mnist
from normexp.errors import UserError

HEADER = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3])


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_read_idx_returns_rows_in_order(tmp_path: Path) -> None:
    path = written(tmp_path / "a", HEADER + bytes(range(6)))
    np.testing.assert_array_equal(read_idx(path, 2), [[0, 1, 2], [3, 4, 5]])


def test_read_idx_unpacks_gzip_by_content(tmp_path: Path) -> None:
    path = written(tmp_path / "a", gzip.compress(HEADER + bytes(range(6))))
    assert read_idx(path, 2).shape == (2, 3)


@pytest.mark.parametrize("data", [bytes([0, 0, 8, 3]) + bytes(20), b"<!DOCTYPE html>"])
def test_read_idx_refuses_another_magic_number(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"wrong magic number 0x.*, expected 0x00000802"):
        read_idx(written(tmp_path / "a", data), 2)


@pytest.mark.parametrize("size", [0, 2, 4, 11, 17, 19])
def test_read_idx_refuses_another_length(size: int, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"truncated or damaged: (more than )?\d+ of \d+ bytes"):
        read_idx(written(tmp_path / "a", (HEADER + bytes(7))[:size]), 2)


@pytest.mark.parametrize("keep", [1, 3, 12, 25])
def test_read_idx_refuses_a_truncated_gzip(keep: int, tmp_path: Path) -> None:
    data = gzip.compress(HEADER + bytes(range(6)))[:keep]
    with pytest.raises(UserError, match="truncated or damaged"):
        read_idx(written(tmp_path / "a", data), 2)


def test_mnist_opens_a_local_copy(mnist_folder: Path) -> None:
    data = Mnist(archive=str(mnist_folder), validation=10).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (10, 10, 10)
    assert data.input_shape == (1, 4, 4)
    assert data.train.y.dtype == np.int64
    assert data.classes == tuple("0123456789")


def test_a_copy_that_is_not_what_was_published_says_so(mnist_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fashion-MNIST's files, or anybody's, were called MNIST in every table."""
    load = Mnist(archive=str(mnist_folder), validation=10).load
    assert load(0).note == "other images or labels than MNIST was published with"
    monkeypatch.setattr(Mnist, "published", Mnist(archive=str(mnist_folder)).content())
    assert load(0).note == ""


def test_mnist_refuses_labels_of_one_class(mnist_folder: Path) -> None:
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 20]) + bytes([3]) * 20
    written(mnist_folder / f"{FILES['train_y']}.gz", gzip.compress(labels))
    with pytest.raises(UserError, match=r"train-labels-idx1-ubyte\.gz: every label is 3: nothing to learn"):
        Mnist(archive=str(mnist_folder)).load(0)


@pytest.mark.parametrize("place", ["", "raw", "MNIST/raw"])
def test_mnist_finds_the_files_below(place: str, tmp_path: Path, mnist_files: dict[str, bytes]) -> None:
    folder = tmp_path / "top" / place
    folder.mkdir(parents=True)
    for name, data in mnist_files.items():
        (folder / name).write_bytes(data)
    assert len(Mnist(archive=str(tmp_path / "top"), validation=0).load(0).train) == 20


def test_mnist_reads_plain_files(tmp_path: Path, mnist_files: dict[str, bytes]) -> None:
    for name, data in mnist_files.items():
        (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress(data))
    assert len(Mnist(archive=str(tmp_path), validation=0).load(0).train) == 20


def test_mnist_opens_the_cache_the_second_time(mnist_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Mnist(archive=str(mnist_folder), validation=10).load(0)

    def forbidden(*args: object) -> Content:
        raise AssertionError("built a second time")

    monkeypatch.setattr(idx_images, "build", forbidden)
    mnist_folder = mnist_folder.rename(mnist_folder.with_name("moved"))
    assert Mnist(archive=str(mnist_folder), validation=10).load(1).fingerprint == first.fingerprint


def test_mnist_notices_a_replaced_file(mnist_folder: Path) -> None:
    first = Mnist(archive=str(mnist_folder), validation=10).load(0)
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 10]) + bytes(10)
    (mnist_folder / f"{FILES['test_y']}.gz").write_bytes(gzip.compress(labels))
    second = Mnist(archive=str(mnist_folder), validation=10).load(0)
    assert first.fingerprint != second.fingerprint


def test_fashion_mnist_does_not_take_the_folder_of_mnist(tmp_path: Path) -> None:
    (tmp_path / "MNIST" / "raw").mkdir(parents=True)
    with pytest.raises(UserError, match=r"no train-images-idx3-ubyte\(\.gz\) in it.*FashionMNIST/raw/"):
        FashionMnist(archive=str(tmp_path)).load(0)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"dataset\.archive=.*nowhere: no such folder"):
        Mnist(archive=str(tmp_path / "nowhere")).load(0)


def test_file_for_a_folder_is_told(mnist_folder: Path) -> None:
    with pytest.raises(UserError, match="is a file, and a folder is needed"):
        Mnist(archive=str(mnist_folder / f"{FILES['train_x']}.gz")).load(0)


def test_settings_of_a_run_on_a_copy_take_it_where_it_was_decoded_and_no_original(
    mnist_folder: Path, tmp_path: Path, cli: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["recipe=none", "dataset=mnist", f"dataset.archive={mnist_folder}", "dataset.validation=5", "model=linear"]
    status, stdout, _ = cli("run", *words, "steps=1", "threads=1")
    assert status == 0
    run, elsewhere = stdout.split()[-1], mnist_folder.rename(tmp_path / "elsewhere")
    status, stdout, _ = cli("run", "--like", run)
    assert (status, stdout.split()[-1]) == (0, run)
    monkeypatch.setenv("NORMEXP_DATA", str(tmp_path / "empty"))
    told = f"--like {run}: raw, which it was trained on, is not here; dataset.archive=PATH says where it is"
    assert cli("run", "--like", run) == (2, "", f"normexp: {told}\n")
    status, stdout, _ = cli("run", "--like", run, f"dataset.archive={elsewhere}")
    assert (status, stdout.split()[-1]) == (0, run)


def test_missing_file_is_named(mnist_folder: Path) -> None:
    (mnist_folder / f"{FILES['test_y']}.gz").unlink()
    with pytest.raises(UserError, match=r"t10k-labels-idx1-ubyte\(\.gz\) is missing"):
        Mnist(archive=str(mnist_folder)).load(0)


def test_truncated_file_is_named_and_nothing_is_cached(mnist_folder: Path, cache_folder: Path) -> None:
    path = mnist_folder / f"{FILES['train_x']}.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz: truncated or damaged gzip file of \d+"):
        Mnist(archive=str(mnist_folder)).load(0)
    assert list(cache_folder.rglob("*")) == []


def test_images_and_labels_must_agree_in_number(mnist_folder: Path) -> None:
    source = mnist_folder / f"{FILES['train_y']}.gz"
    (mnist_folder / f"{FILES['test_y']}.gz").write_bytes(source.read_bytes())
    with pytest.raises(UserError, match=r"10 images, but 20 labels in t10k-labels-idx1-ubyte\.gz"):
        Mnist(archive=str(mnist_folder)).load(0)


def test_label_beyond_the_classes_is_refused(mnist_folder: Path) -> None:
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 10]) + bytes([10] * 10)
    (mnist_folder / f"{FILES['test_y']}.gz").write_bytes(gzip.compress(labels))
    with pytest.raises(UserError, match="label 10, allowed: 0 to 9"):
        Mnist(archive=str(mnist_folder)).load(0)


@pytest.mark.data
def test_mnist_is_complete(shared_data: Path) -> None:
    data = Mnist(archive=str(shared_data / "MNIST" / "raw")).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (55_000, 5_000, 10_000)
    assert data.input_shape == (1, 28, 28)
    assert np.bincount(data.validation.y).tolist() == [500] * 10
    assert np.bincount(data.test.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
