"""A cell that fails, cannot be built or is lost costs itself alone."""

import pytest
from bombs import PLUGIN, statuses
from in_process import InProcess
from tiny_sweeps import TINY

from normexp.records import RunDirectory, find_runs
from normexp.sweeps.plan import Cell, make_plan
from normexp.sweeps.pool import Pool, record_failure


def test_a_sweep_of_failures_proposes_nothing_to_look_at(sweep, bomb):
    assert "next:" not in sweep(*PLUGIN, "norm.at=3", "seed=0,1", "model.widths=[5]")[1]


def test_sweep_failing_cell_is_recorded_and_the_rest_goes_on(sweep, results, bomb):
    status, stderr = sweep(*PLUGIN, "norm.at=3,1000", "seed=0,1", "model.widths=[5]")
    assert status == 1
    assert "2 of 4 runs failed; the same command tries them again" in stderr
    cause = "RuntimeError: the bomb went off, raised by norm=bomb.Bomb (bomb.py:18, in Fuse.forward) at step 2"
    assert statuses(results) == ["done", "done", "failed", "failed"]
    failed = next(run.path for run in find_runs([results]) if run.status["status"] == "failed")
    assert "in forward" in (failed / "traceback.txt").read_text()
    assert f"{failed}: {cause}\nnormexp:         traceback: {failed}/traceback.txt\n" in stderr


def test_sweep_killed_cell_keeps_no_traceback_of_an_earlier_failure(sweep, results, monkeypatch):
    sweep("seed=0")
    (run,) = find_runs([results])
    (run.path / "traceback.txt").write_text("of another time")
    run.write_status("failed", cause="another")
    monkeypatch.setattr(InProcess, "request", lambda *_: {"status": "failed", "cause": "killed"})
    monkeypatch.setattr("normexp.sweeps.sweep.time_needed", lambda *_: "")
    status, stderr = sweep("seed=0")
    assert (status, run.status["cause"]) == (1, "killed")
    assert "traceback" not in stderr
    assert not (run.path / "traceback.txt").exists()


def test_sweep_cell_that_cannot_be_built_is_recorded(sweep, results, monkeypatch):
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("normexp.runs.trainer.build", fail)
    assert sweep("seed=0")[0] == 1
    run = find_runs([results])[0]
    assert run.status["status"] == "failed"
    assert str(run.status["cause"]).startswith("the memory of this machine does not suffice; a smaller batch_size")
    assert "in fail" in (run.path / "traceback.txt").read_text()


def test_pool_outlives_a_record_that_cannot_be_written(results, monkeypatch):
    """A full disk in the place of one cell: the others are trained, and the failure is told."""
    ended: list[str] = []
    cells = [Cell(plan.config, results / plan.path.name) for plan in make_plan([*TINY, "seed=0,1"]).cells]
    answers = iter([{"status": "failed", "cause": "no memory"}, {"status": "done"}])
    monkeypatch.setattr(InProcess, "request", lambda *_: next(answers))
    monkeypatch.setattr(RunDirectory, "write_status", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    Pool([InProcess(1)], lambda *_: None, lambda cell, answer: ended.append(answer["status"])).run(cells, force=False)
    assert ended == ["failed", "done"]


def test_finished_run_that_was_not_begun_again_stays_finished(results):
    (cell,) = make_plan([*TINY, f"results_dir={results}"]).cells
    cell.directory.path.mkdir(parents=True)
    cell.directory.finish("done", step=6)
    record_failure(cell.directory, {"status": "failed", "cause": "killed by SIGKILL"})
    assert cell.directory.status["status"] == "done"
    cell.directory.write_status("running", step=0)
    record_failure(cell.directory, {"status": "failed", "cause": "killed by SIGKILL"})
    assert cell.directory.status == {"status": "failed", "step": 0, "cause": "killed by SIGKILL"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_sweep_cell_that_was_lost_is_no_success(sweep, monkeypatch):
    """Should the sweep itself have a fault, its exit status must tell."""
    monkeypatch.setattr(InProcess, "request", lambda *_: {"seconds": 1.0})
    status, stderr = sweep("seed=0,1")
    assert status == 1
    assert "2 of 2 runs failed" in stderr
