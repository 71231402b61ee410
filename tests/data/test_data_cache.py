"""The cache: opens fast, appears at once or not at all, never serves a damaged entry."""

import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from one_line import one_line_error

from normexp.data.csv_file import CsvFile
from normexp.data.digits import Digits
from normexp.data.files import cache
from normexp.data.files.cache import Content, cached, folder, newest
from normexp.data.mnist import Mnist
from normexp.errors import UserError
from normexp.records import locks
from normexp.records.locks import Owner


def content(value: int = 7) -> Content:
    x = np.full((5, 2, 2, 1), value, dtype=np.uint8)
    return Content({"train_x": x, "train_y": np.arange(5)}, ("a", "b"), "a note", "a source")


def forbidden() -> Content:
    raise AssertionError("built a second time")


def entry_of(cache_folder: Path) -> Path:
    (entry,) = cache_folder.iterdir()
    return entry


def test_cached_returns_what_was_built() -> None:
    found = cached("thing", "key", content)
    np.testing.assert_array_equal(found.arrays["train_x"], content().arrays["train_x"])
    assert (found.classes, found.note, found.source) == (("a", "b"), "a note", "a source")


def test_cached_maps_arrays_that_nothing_can_write() -> None:
    array = cached("thing", "key", content).arrays["train_x"]
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable


def test_cached_builds_once_for_a_key() -> None:
    cached("thing", "key", content)
    cached("thing", "key", forbidden)


def test_cached_builds_again_for_another_key() -> None:
    cached("thing", "key", content)
    assert cached("thing", "other", lambda: content(8)).arrays["train_x"].max() == 8


def test_missing_validation_split_is_empty_and_shaped_as_training() -> None:
    split = cached("thing", "key", content).split("validation")
    assert split.x.shape == (0, 2, 2, 1)


def test_failed_build_leaves_nothing(cache_folder: Path) -> None:
    def fail() -> Content:
        raise UserError("no such file")

    with pytest.raises(UserError, match="no such file"):
        cached("thing", "key", fail)
    assert list(cache_folder.iterdir()) == []


def test_interrupted_write_leaves_nothing(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cache, "_serialized", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cached("thing", "key", content)
    assert list(cache_folder.iterdir()) == []


def test_entry_appears_by_one_rename(cache_folder: Path) -> None:
    seen = []

    def build() -> Content:
        (part,) = cache_folder.iterdir()
        seen.append(part.stat().st_ino)
        return content()

    cached("thing", "key", build)
    assert [entry_of(cache_folder).stat().st_ino] == seen  # the very file that was written, not a copy


def test_killed_build_is_not_taken_for_an_entry(cache_folder: Path) -> None:
    code = (
        "import os, signal; from normexp.data.files.cache import cached;"
        "cached('thing', 'key', lambda: os.kill(os.getpid(), signal.SIGKILL))"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert [path.suffix for path in cache_folder.iterdir()] == [".part"]
    assert cached("thing", "key", content).note == "a note"


def test_leftovers_are_swept_at_once_or_after_a_day_where_nobody_knows_whose_they_are(tmp_path: Path) -> None:
    target = tmp_path / "my-data.gz"
    own = cache.part_path(target).name
    living = own.replace(f"-{os.getpid()}-", f"-{os.getppid()}-").replace(
        Owner.this().began, locks._began(os.getppid())
    )
    names = {
        ".my-data.gz.old.part": False,
        ".my-data.gz.young.part": True,
        own: True,
        living: True,
        own.replace(f"-{os.getpid()}-", f"-{2**22 + 1}-"): False,
        own.replace(Owner.this().began, "1"): False,  # another process that had our number
        own.replace(f".{Owner.this().host}-", ".other.host-"): True,
    }
    (tmp_path / ".my-data.gz.old.part").mkdir()  # as earlier versions built
    os.utime(tmp_path / ".my-data.gz.old.part", (time.time() - 2 * 24 * 3600,) * 2)
    for name in list(names)[1:]:
        (tmp_path / name).touch()
    cache.part_path(target)
    assert {name: (tmp_path / name).exists() for name in names} == names


def test_without_a_home_folder_what_needs_no_cache_is_read_and_the_rest_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache was a folder `~` of the current one, or the error of a library."""
    for name in ("NORMEXP_DATA", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text("a,b\n1,2\n3,4\n")
    os.utime(tmp_path / "own.csv", (0, 0))
    assert CsvFile(file="own.csv", target="b").content()
    assert len(Digits().load(0).train)
    with one_line_error("there is no home folder for data; set NORMEXP_DATA to a writable folder"):
        Mnist().load(0)
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"]


@pytest.mark.parametrize(
    ("given", "said"),
    [("~nosuchuser/x", "there is no user 'nosuchuser' here"), ("$HOME/x", "a variable is not filled in here")],
)
def test_a_cache_that_is_no_path_is_refused_by_what_needs_one(
    given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a file of jobs may have it; it was a folder of that name in the current one."""
    monkeypatch.setenv("NORMEXP_DATA", given)
    monkeypatch.chdir(tmp_path)
    assert len(Digits().load(0).train)
    with one_line_error(re.escape(f"NORMEXP_DATA={given}: {said}")):
        Mnist().load(0)
    assert not list(tmp_path.iterdir())


def _build_slowly(barrier: object) -> int:
    def build() -> Content:
        barrier.wait(20)  # type: ignore[attr-defined]
        return content()

    return int(cached("thing", "key", build).arrays["train_x"].sum())


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_two_processes_that_build_at_once_agree(cache_folder: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    workers = [context.Process(target=_build_slowly, args=(barrier,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert entry_of(cache_folder).name.startswith("thing-")


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    changed = {"half": data[: len(data) // 2], "empty": b"", "byte": data[:-1] + b"!", "text": b"<html>" * 20}
    path.write_bytes(changed[how])


@pytest.mark.parametrize("how", ["half", "empty", "byte", "text"])
def test_damaged_entry_is_reported_and_set_aside(how: str, cache_folder: Path) -> None:
    cached("thing", "key", content)
    damage(entry_of(cache_folder), how)
    with one_line_error(r"damaged cache entry .*; it was set aside as thing-\w+\.\w+\.damaged"):
        cached("thing", "key", forbidden)
    assert len(list(cache_folder.glob("*.damaged-*"))) == 1
    assert cached("thing", "key", content).note == "a note"


def test_changed_byte_is_reported_with_both_checksums(cache_folder: Path) -> None:
    cached("thing", "key", content)
    damage(entry_of(cache_folder), "byte")
    with pytest.raises(UserError, match=r"sha256 [0-9a-f]{64}, expected [0-9a-f]{64}"):
        cached("thing", "key", forbidden)


def test_copied_entry_with_new_times_is_still_good(cache_folder: Path) -> None:
    cached("thing", "key", content)
    os.utime(entry_of(cache_folder))
    assert cached("thing", "key", forbidden).note == "a note"


def test_newest_entry_is_found_by_name(cache_folder: Path) -> None:
    for age, key in enumerate(("one", "two", "three")):
        cached("thing", key, content)
        (new,) = (path for path in cache_folder.iterdir() if path.stat().st_mtime > 1e9)
        os.utime(new, (1000 - age, 1000 - age))
    assert newest("thing") == "one"
    assert newest("nothing") is None


def test_unwritable_cache_is_told_before_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NORMEXP_DATA", str(tmp_path / "file" / "inside"))
    with pytest.raises(UserError, match=r"cannot write to .*; set NORMEXP_DATA to a writable folder"):
        cached("thing", "key", forbidden)


def test_digits_need_no_writable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Digits().load(0).fingerprint
    (tmp_path / "file").touch()
    monkeypatch.setenv("NORMEXP_DATA", str(tmp_path / "file"))
    assert Digits().load(0).fingerprint == expected


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the place that Linux has")
def test_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NORMEXP_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "normexp"


def test_reading_data_imports_neither_torch_nor_sklearn(cache_folder: Path) -> None:
    Digits().load(0)
    code = (
        "import sys; from normexp.data.digits import Digits; Digits().load(0);"
        "from normexp.data import cifar10, mnist, image_folder;"
        "sys.exit(bool({'torch', 'torchvision', 'sklearn'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
