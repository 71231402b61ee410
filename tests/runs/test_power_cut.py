"""A power cut: what a disk holds at any instant of a run continues to the same bytes.

The disk is the image of a file system of its own, ext4 as most have. A copy of it, taken while a run trains, is what
would be left: what was flushed is there, what was only written is not, or in part.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from normexp.records import CHECKPOINT, METRICS, PROBES, find_runs

SETTINGS = ("model=mlp", "model.widths=[32]", "epochs=60", "probe=gradient_norm", "optim=adam", "threads=1", "--quiet")
RUN = """
import sys
from normexp.cli.verbs import main
from normexp.runs import checkpointer
checkpointer.SAVE_INTERVAL = 0.3
sys.exit(main(["run", *sys.argv[1:]]))
"""
COPIES = 6
pytestmark = pytest.mark.slow


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    """Mount the image of a disk, its journal replayed. Skips where that is not allowed."""
    place.mkdir(parents=True)
    done = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The image of an empty disk."""
    if not all(map(shutil.which, ("mkfs.ext4", "mount", "umount"))):
        pytest.skip("no tools to make and mount the image of a disk")
    path = tmp_path / "disk"
    with path.open("wb") as file:
        file.truncate(32 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", path], check=True)
    return path


def train(disk: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUN, *SETTINGS, f"results_dir={disk / 'results'}"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def outcome(disk: Path) -> dict[str, bytes]:
    (run,) = find_runs([disk / "results"])
    return {name: (run.path / name).read_bytes() for name in (METRICS, PROBES, CHECKPOINT)}


def copies(image: Path, disk: Path, count: int) -> list[Path]:
    """Train on a disk and copy it at instants from the first checkpoint on."""
    made = [image.with_name(f"copy-{number}") for number in range(count)]
    with train(disk) as process:
        while process.poll() is None and not list(disk.glob(f"results/runs/*/{CHECKPOINT}")):
            time.sleep(0.01)
        for path in made:
            shutil.copyfile(image, path)
            time.sleep(0.25)
        assert process.wait(timeout=300) == 0
    return made


def test_what_is_on_the_disk_at_any_instant_continues_to_the_same_bytes(image, tmp_path):
    with mounted(image, tmp_path / "whole") as disk:
        cut = copies(image, disk, COPIES)
        expected = outcome(disk)
    begun = 0
    for path in cut:
        with ExitStack() as mounts:
            disk = mounts.enter_context(mounted(path, tmp_path / f"mounted-{path.name}"))
            begun += bool(list(disk.glob(f"results/runs/*/{CHECKPOINT}")))
            with train(disk) as process:
                said = process.communicate(timeout=300)[1].decode()
            assert process.returncode == 0, (path.name, said)
            assert "damaged" not in said, (path.name, said)
            assert outcome(disk) == expected, path.name
    assert begun >= COPIES // 2  # a copy may be older than the disk's next commit
