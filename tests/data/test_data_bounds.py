"""Small files that unpack to large ones, and numbers that fit nowhere: one line, at once, in little memory."""

import gzip
import stat
import tarfile
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from one_line import one_line_error

from normexp.config import compose
from normexp.data.adding import Adding
from normexp.data.base import check_fits
from normexp.data.covariate_shift import CovariateShift
from normexp.data.csv_file import CsvFile
from normexp.data.digits import Digits
from normexp.data.files import members as reading
from normexp.data.image_folder import ImageFolder
from normexp.data.images.decoding import decode
from normexp.data.images.idx_images import FILES
from normexp.data.loading import load
from normexp.data.mnist import Mnist

ZEROS = bytes(2**20)


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Fail where more than 30 MB of Python's and NumPy's memory were in use at once."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * 2**20


def refused(what: Callable[[], object]) -> str:
    """Return the one line of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with one_line_error() as error:
            what()
    return str(error.value)


def written_zip(path: Path, name: str, megabytes: int, extra: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in extra.items():
            archive.writestr(member, data)
        with archive.open(name, "w", force_zip64=True) as file:
            for _ in range(megabytes):
                file.write(ZEROS)
    return path


@pytest.mark.usefixtures("little_memory")
def test_member_of_a_zip_larger_than_any_image_is_refused(tmp_path: Path, pictures: dict[str, bytes]) -> None:
    path = written_zip(tmp_path / "bomb.zip", "train/cat/9.png", 65, pictures)
    line = refused(lambda: ImageFolder(path=str(path)).load(0))
    assert "'train/cat/9.png' unpacks to 65 MB, at most 64 MB are read" in line


@pytest.mark.usefixtures("little_memory")
def test_member_of_a_zip_that_nobody_wants_is_not_unpacked(tmp_path: Path, pictures: dict[str, bytes]) -> None:
    path = written_zip(tmp_path / "large.zip", "notes.txt", 65, pictures)
    assert len(ImageFolder(path=str(path)).load(0).train) == 6


@pytest.mark.usefixtures("little_memory")
def test_gzip_that_unpacks_to_many_times_its_size_is_refused(
    write_tar: Callable[..., Path], pictures: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGEST", 2**20)
    path = write_tar({**pictures, "notes.txt": bytes(20 * 2**20)})
    assert "unpacks to more than 200 times its size" in refused(lambda: ImageFolder(path=str(path)).load(0))


def test_tar_that_says_more_than_any_data_has_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("train/cat/1.png")
    info.size = 2**40
    path = tmp_path / "bomb.tar"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert "unpacks to more than 64 GB" in refused(lambda: ImageFolder(path=str(path)).load(0))


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (tarfile.SYMTYPE, "; pack what it leads to (tar --dereference --hard-dereference)"),
        (tarfile.LNKTYPE, "; pack what it leads to (tar --dereference --hard-dereference)"),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_image_that_is_a_link_in_a_tar_is_not_left_out(
    tmp_path: Path, write_tar: Callable[..., Path], pictures: dict[str, bytes], kind: bytes, way: str
) -> None:
    """In a folder it is an image like the others."""
    path = write_tar(pictures)
    with gzip.open(path) as file:
        members = file.read()
    info = tarfile.TarInfo("train/cat/9.png")
    info.type, info.linkname = kind, next(iter(pictures))
    linked = tmp_path / "linked.tar"
    linked.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + members)
    line = refused(lambda: ImageFolder(path=str(linked)).load(0))
    assert line == f"{linked}: 'train/cat/9.png' is no regular file{way}"


@pytest.mark.parametrize(
    ("kind", "way"), [("tar", "tar --dereference --hard-dereference"), ("zip", "zip without --symlinks")]
)
def test_folder_that_is_a_link_in_an_archive_is_not_left_out(
    tmp_path: Path, write_tar: Callable[..., Path], pictures: dict[str, bytes], kind: str, way: str
) -> None:
    """It may be a class, or a split."""
    path = tmp_path / "linked.zip"
    if kind == "tar":
        path = write_tar(pictures, "linked.tar")
        with tarfile.open(path, "a") as archive:
            for name in ("train/.cache", "train/emu"):
                info = tarfile.TarInfo(name)
                info.type, info.linkname = tarfile.SYMTYPE, "../elsewhere/emu"
                archive.addfile(info)
    else:
        with zipfile.ZipFile(path, "w") as packed:
            for name, data in pictures.items():
                packed.writestr(name, data)
            for name in ("train/.cache", "train/emu"):
                link = zipfile.ZipInfo(name)
                link.external_attr = stat.S_IFLNK << 16
                packed.writestr(link, "../elsewhere/emu")
    line = refused(lambda: ImageFolder(path=str(path)).load(0))
    assert line == f"{path}: 'train/emu' is no regular file; pack what it leads to ({way})"


def test_sparse_member_is_refused(tmp_path: Path) -> None:
    """The old GNU format: type S, and the real size, here 1 TB, behind the map of the data at offset 483."""
    info = tarfile.TarInfo("train/cat/1.png")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"\x80" + (2**40).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    path = tmp_path / "sparse.tar"
    path.write_bytes(bytes(header) + bytes(1024))
    assert "'train/cat/1.png' is a sparse file, which is refused" in refused(
        lambda: ImageFolder(path=str(path)).load(0)
    )


def head_of_png(side: int) -> bytes:
    """A PNG of one bit a pixel, up to where its pixels would begin."""
    size = side.to_bytes(4)
    chunks = (b"IHDR" + size + size + bytes([1, 0, 0, 0, 0]), b"IDAT")
    parts = (len(chunk[4:]).to_bytes(4) + chunk + zlib.crc32(chunk).to_bytes(4) for chunk in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("side", [8193, 13_000, 20_000])  # Pillow takes the first, refuses the last
def test_huge_image_is_refused_before_its_pixels_are_read(side: int) -> None:
    line = refused(lambda: decode(head_of_png(side), "huge.png", 3))
    assert line == "huge.png: more than 67,108,864 pixels, which is refused; scale it down first"


def test_huge_size_to_scale_to_is_refused(encode: Callable[..., bytes]) -> None:
    assert "dataset.size=1000000: more than" in refused(lambda: decode(encode(1), "a.png", 3, size=1_000_000))


@pytest.mark.usefixtures("little_memory")
def test_idx_file_that_unpacks_to_more_than_it_says_is_refused(mnist_folder: Path) -> None:
    path = mnist_folder / f"{FILES['train_x']}.gz"
    data = gzip.decompress(path.read_bytes())
    with gzip.open(path, "wb") as file:
        file.write(data)
        for _ in range(40):
            file.write(ZEROS)
    line = refused(lambda: Mnist(archive=str(mnist_folder)).load(0))
    assert "truncated or damaged: more than 320 of 320 bytes" in line


@pytest.mark.parametrize("shape", [(0, 28, 28), (20, 0, 28), (2**16, 2**16, 28)])
def test_idx_file_without_numbers_or_with_too_many_is_refused(shape: tuple[int, ...], mnist_folder: Path) -> None:
    sizes = b"".join(size.to_bytes(4) for size in shape)
    (mnist_folder / f"{FILES['train_x']}.gz").write_bytes(bytes([0, 0, 8, 3]) + sizes)
    line = refused(lambda: Mnist(archive=str(mnist_folder)).load(0))
    assert f"holds {shape[0]} x {shape[1]} x 28 numbers; there must be some" in line


def test_crop_beyond_the_image_is_refused() -> None:
    line = refused(lambda: Digits(crop=1_000_000).load(0))
    assert line == "dataset.crop=1000000: images of 8 pixels are padded by at most as many"
    Digits(crop=8).load(0)


HUGE = {
    "adding": ["dataset=adding", "model=lstm_classifier", "inputs=none", "dataset.examples=1000000000000"],
    "steps": ["dataset=adding", "model=lstm_classifier", "inputs=none", "dataset.length=1000000000000"],
    "copy": ["dataset=copy", "model=lstm_classifier", "inputs=none", "dataset.examples=1000000000000"],
    "domains": ["dataset=covariate_shift", "model=linear", "dataset.dimension=1000000000000"],
    "houses": ["dataset=house_prices", "model=linear", "dataset.examples=1000000000000"],
    "stories": ["dataset=cloze", "inputs=none", "model=attentive_reader", "dataset.examples=1000000000000"],
}


@pytest.mark.parametrize("words", HUGE.values(), ids=HUGE)
def test_generated_data_beyond_the_memory_is_refused(words: list[str]) -> None:
    line = refused(lambda: load(compose(words)))
    assert "1,000,000,000,000" in line
    assert "GB, this machine has" in line


def test_what_fits_is_not_refused() -> None:
    check_fits(10**6, "little")
    Adding(length=5, examples=20, test=5, validation=5).load(0)


def targets(path: Path, size: float) -> CsvFile:
    path.write_text("a,b\n" + "".join(f"{row},{(-1) ** row * size}\n" for row in range(20)))
    return CsvFile(file=str(path), target="b")


@pytest.mark.parametrize(
    ("size", "what"), [(3e38, "large for float32; scale them down"), (1e-40, "small for float32; scale them up")]
)
def test_target_beyond_float32_is_refused(size: float, what: str, tmp_path: Path) -> None:
    line = refused(lambda: targets(tmp_path / "table.csv", size).load(0))
    assert line == f"dataset.standardize_target=true: the targets are too {what}"


def test_targets_whose_squares_vanish_are_standardized(tmp_path: Path) -> None:
    data = targets(tmp_path / "small.csv", 1e-30).load(0)
    assert data.train.y.std() == pytest.approx(1)
    assert data.target_scale == pytest.approx(1e-30, rel=0.1)


def test_shift_beyond_float32_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(lambda: compose(["dataset=covariate_shift", "model=linear", "dataset.shift=1.7e308"]))
        data = CovariateShift(shift=3e38, examples=20, validation=5).load(0)
    assert np.isfinite(data.train.x).all()
