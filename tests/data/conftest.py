"""Every test here has a cache folder of its own, and the sizes of its files are tiny."""

import gzip
import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from made_idx import idx_bytes
from PIL import Image
from server import Server

from normexp.data.images.idx_images import FILES

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("NORMEXP_DATA", str(folder))
    return folder


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data files, for tests marked `data`."""
    folder = Path(os.environ.get("NORMEXP_SHARED_DATA") or TOP.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}")
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


@pytest.fixture
def mnist_files() -> dict[str, bytes]:
    """Four gzipped idx files: 20 training and 10 test images of 4 x 4 pixels, labels 0 to 9."""
    rng = np.random.default_rng(0)
    files = {}
    for split, count in (("train", 20), ("test", 10)):
        images, labels = rng.integers(0, 256, (count, 4, 4)), np.arange(count) % 10
        files[f"{FILES[f'{split}_x']}.gz"] = gzip.compress(idx_bytes(images), mtime=0)
        files[f"{FILES[f'{split}_y']}.gz"] = gzip.compress(idx_bytes(labels), mtime=0)
    return files


@pytest.fixture
def mnist_folder(tmp_path: Path, mnist_files: dict[str, bytes]) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    for name, data in mnist_files.items():
        (folder / name).write_bytes(data)
    return folder


def image_bytes(value: int, size: tuple[int, int] = (6, 6), mode: str = "RGB", kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, value if mode == "L" else (value, 0, 255 - value)).save(buffer, kind)
    return buffer.getvalue()


@pytest.fixture
def encode() -> Callable[..., bytes]:
    """Encode an image of one colour: red=value, blue=255-value."""
    return image_bytes


@pytest.fixture
def pictures() -> dict[str, bytes]:
    """A tiny image folder: name -> bytes; 3 training and 2 test images of each of two classes."""
    return {
        f"{split}/{kind}/{number}.png": image_bytes(10 * number + offset)
        for split, count in (("train", 3), ("test", 2))
        for kind, offset in (("cat", 1), ("dog", 2))
        for number in range(count)
    }


@pytest.fixture
def write_tree(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """Write name -> bytes as files under a new folder and return it."""

    def write(files: dict[str, bytes]) -> Path:
        top = tmp_path / "pictures"
        for name, data in files.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_bytes(data)
        return top

    return write


@pytest.fixture
def write_tar(tmp_path: Path) -> Callable[..., Path]:
    """Write name -> bytes as a tar.gz and return its path."""
    import tarfile

    def write(files: dict[str, bytes], name: str = "pictures.tar.gz") -> Path:
        path = tmp_path / name
        with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as archive:
            for member, data in files.items():
                info = tarfile.TarInfo(member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    return write


@pytest.fixture
def cifar_archive(write_tar: Callable[..., Path]) -> Path:
    """An archive laid out as the original: 6 batches of 20 images, all their pixels the batch's number."""
    import pickle

    files = {}
    for number, name in enumerate((*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"), start=1):
        batch = {"data": np.full((20, 3072), number, np.uint8), "labels": [n % 10 for n in range(20)]}
        files[f"cifar-10-batches-py/{name}"] = pickle.dumps(batch, 4)
    return write_tar({"cifar-10-batches-py/batches.meta": b"", **files}, "c10.tar.gz")
