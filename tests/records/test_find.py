"""Finding run directories: what is said while a large folder is walked."""

from pathlib import Path

import pytest
from one_line import one_line_error

from normexp.records import RunDirectory, find_runs, waiting
from normexp.records.find import archives_below, runs_below
from normexp.records.names import STATUS


def test_a_large_folder_is_walked_with_a_word(tmp_path, caplog, monkeypatch):
    for name in "abc":
        (tmp_path / name / "d").mkdir(parents=True)
    with caplog.at_level("INFO", "normexp"):
        assert list(runs_below(tmp_path)) == []
        assert caplog.messages == []
        monkeypatch.setattr(waiting, "FIRST", 0.0)
        assert list(runs_below(tmp_path)) == []
    told = f"looking for runs in {tmp_path}, folders so far: 1; name the one of your runs"
    assert caplog.messages == [told]


def test_a_folder_called_like_an_archive_is_a_folder(tmp_path, make):
    made = [make(tmp_path / name / "runs" / "x").path for name in ("a", "records.zip")]
    assert [run.path for run in find_runs([tmp_path])] == made
    assert [run.status["status"] for run in find_runs([tmp_path])] == ["done", "done"]
    assert archives_below(tmp_path) == []
    assert [run.path for run in find_runs([made[0].parent.parent])] == made[:1]
    assert not RunDirectory(tmp_path / "a" / "gone").has(STATUS)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("digits_five_schemes/cpu", "digits_five_schemes/cpu"),
        ("digits_five_schemes/cpu/runs/batch/seed=0", "digits_five_schemes/cpu/runs/batch/seed=0"),  # packed
        ("digits_five_schems/cpu", "digits_five_schemes/cpu"),
    ],
)
def test_the_path_of_committed_records_that_is_typed_elsewhere_is_proposed_in_full(tmp_path, monkeypatch, typed, meant):
    (tmp_path / "results" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with one_line_error(f"; did you mean '?{Path(__file__).resolve().parents[2]}/results/{meant}'?\\?$"):
        find_runs([f"results/{typed}"])


@pytest.mark.parametrize("typed", ["pyproject.toml", "results/nothing", "docs"])
def test_nothing_else_of_the_clone_is_proposed_elsewhere(tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)
    with one_line_error(f"^{typed}: no such file or folder$"):
        find_runs([typed])
