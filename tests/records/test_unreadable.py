"""What cannot be read for a moment (a disk, a network, a right, the memory) may be sound: it is named and kept."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from one_line import one_line_error

from normexp.errors import UserError
from normexp.records import CHECKPOINT, ENVIRONMENT, Damaged, RunDirectory, Unreadable, find_runs, together_before
from normexp.records.files import is_there, read_regular, sha256_of
from normexp.records.merging import merge
from normexp.records.packing import pack
from normexp.report.frames.reading import folder_frame
from normexp.runs.checkpoint import step_of
from normexp.runs.run import _status
from normexp.sweeps.plan import Cell
from normexp.sweeps.status import summary
from normexp.verify.records import verify_records

Failing = Callable[..., None]
PASSING = [errno.EIO, errno.ESTALE, errno.EACCES, errno.EMFILE, errno.ENOMEM]
LASTING = [errno.ELOOP, errno.ENXIO, errno.ENOTDIR]


@pytest.fixture
def failing(monkeypatch) -> Failing:
    """Let the system refuse a path: failing("open", end of the path, number of the error)."""

    def fail(call: str, ending: str, number: int = errno.EIO) -> None:
        real = getattr(os, call)

        def refuse(path, *rest, **options):
            if isinstance(path, str | Path) and str(path).endswith(ending):
                raise OSError(number, os.strerror(number), str(path))
            return real(path, *rest, **options)

        monkeypatch.setattr(os, call, refuse)

    return fail


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != ".lock")


@pytest.mark.parametrize("number", PASSING, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["status.json", "config.yaml", "metrics.csv"])
def test_a_sound_record_is_neither_set_aside_nor_called_damaged(tmp_path, make, failing, name, number):
    run = make(tmp_path / "run")
    before = names(tmp_path)
    failing("open", f"run/{name}", number)
    for ask in (lambda: _status(run), lambda: Cell(None, run.path).state):  # type: ignore[arg-type]
        with one_line_error(rf"run/{name}: cannot be read \({os.strerror(number)}\)", Unreadable):
            ask()
    assert names(tmp_path) == before


@pytest.mark.parametrize("number", LASTING, ids=errno.errorcode.get)
def test_what_is_no_file_is_damaged(tmp_path, make, failing, number):
    run = make(tmp_path / "run")
    failing("open", "run/status.json", number)
    with pytest.raises(Damaged, match=r"status\.json: damaged"):
        _ = run.status


def test_a_folder_that_does_not_answer_is_no_new_run(tmp_path, make, failing):
    make(tmp_path / "run")
    failing("lstat", "run/status.json", errno.ESTALE)
    with one_line_error(r"run/status\.json: cannot be read", Unreadable):
        _status(RunDirectory(tmp_path / "run"))
    assert not is_there(tmp_path / "none")
    assert not is_there(tmp_path / "run" / "metrics.csv" / "inside")


@pytest.mark.parametrize("call", ["open", "lstat"])
def test_an_archive_that_does_not_answer_is_no_damaged_one(experiment, failing, call):
    pack(experiment)
    failing(call, "records.zip")
    with one_line_error(r"records\.zip: cannot be read", Unreadable):
        _status(RunDirectory(experiment / "runs" / "batch" / "seed=0"))
    assert names(experiment / "runs" / "batch" / "seed=0") == [CHECKPOINT]


def test_more_than_the_memory_holds_is_no_damage(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("content")

    def exhausted(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("normexp.records.files._size", exhausted)
    for read in (read_regular, sha256_of):
        with one_line_error(r"file: cannot be read \(it is more than the memory holds\)", Unreadable):
            read(tmp_path / "file", 10)


def test_overviews_name_it_and_go_on(tmp_path, make, failing):
    for name in ("one", "two"):
        make(tmp_path / name)
    failing("open", "two/config.yaml")
    counts = summary(tmp_path)["counts"]
    failing("open", "two/status.json")
    told: list[str] = []
    assert (counts, summary(tmp_path)["counts"]) == ({"done": 2}, {"done": 1, "unreadable": 1})
    assert verify_records(tmp_path, told.append) == 1
    assert told[0].startswith(f"unreadable: {tmp_path}/two/status.json: cannot be read (")
    assert told[1] == "2 records: 1 unreadable"


@pytest.mark.parametrize("name", ["status.json", "config.yaml", "metrics.csv"])
def test_a_table_names_it_and_goes_on(tmp_path, make, failing, name):
    for seed, run in enumerate(("one", "two")):
        config = make(tmp_path / run, sums=False).path / "config.yaml"
        config.write_text(config.read_text().replace("seed: 0", f"seed: {seed}"))
    failing("open", f"two/{name}")
    frame = folder_frame(find_runs([tmp_path]))
    assert sorted(record.state for record in frame.records) == ["done", "unreadable"]
    (line,) = frame.left_out
    assert f"two ({name}: cannot be read (Input/output error))" in line


def test_a_merge_leaves_it_out_and_never_writes_over_it(tmp_path, make, failing):
    for name in ("one", "two"):
        make(tmp_path / name / "run")
        make(tmp_path / name / name)
    failing("open", "two/run/metrics.csv")
    (line,) = merge(tmp_path / "one", tmp_path / "two", tmp_path / "three", ()).left
    assert line.startswith(f"{tmp_path}/two/run/metrics.csv: cannot be read (")
    before = names(tmp_path)
    with one_line_error(r"two/run/metrics\.csv: cannot be read", Unreadable):
        merge(tmp_path / "two", tmp_path / "one", None, ())
    assert names(tmp_path) == before


def test_what_a_run_was_before_is_not_nothing(tmp_path, make, failing):
    """A stack whose environment.json counted as empty began again."""
    run = make(tmp_path / "run", status="running")
    failing("open", ENVIRONMENT)
    with pytest.raises(Unreadable):
        together_before(run)


def test_a_checkpoint_of_a_stack_that_does_not_answer_is_not_thrown_away(tmp_path, failing):
    (tmp_path / CHECKPOINT).write_bytes(b"weights")
    assert step_of(tmp_path / CHECKPOINT) is None
    failing("open", CHECKPOINT)
    with pytest.raises(UserError, match="cannot be read"):
        step_of(tmp_path / CHECKPOINT)
