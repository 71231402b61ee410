"""`normexp status --watch`: what one look shows of sweeps of any kind, and when it ends."""

import io
import json
import os
import re
import select
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from in_process import InProcess
from tiny_sweeps import TINY

from normexp.errors import UserError
from normexp.records import RunDirectory, find_runs
from normexp.sweeps.last import below, is_swept, last_sweep, planned, remembered
from normexp.sweeps.look import BARS, WIDTH, curve, picture, spark, text
from normexp.sweeps.plan import make_plan
from normexp.sweeps.protocol import carry_out, end
from normexp.sweeps.runs_view import PlannedRuns
from normexp.sweeps.serve import SweepWorker
from normexp.sweeps.shared import Pace, SharedSweep, write_plan
from normexp.sweeps.snapshot import SweepView, is_anybody_there
from normexp.sweeps.watch import redraws, views_of, watch

METRICS = "step,epoch,lr,train/loss,train/accuracy,validation/loss,validation/accuracy\n"


def shared(results: Path, *overrides: str) -> SharedSweep:
    return write_plan(make_plan([*TINY, f"results_dir={results}", *overrides]).cells, results, Pace(0.1, 1.0))


def looked(path: Path) -> list[str]:
    """Return the lines of one look."""
    return [line for view in views_of(path) for line in text(view, view.snapshot())]


def drawn(view: object) -> str:
    """Return what a terminal shows."""
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(picture(view, view.snapshot()))  # type: ignore[attr-defined, arg-type]
    return console.export_text()


def begun(path: Path, step: int) -> RunDirectory:
    """Return a run of 10 steps that looks as if it were training."""
    path.mkdir(parents=True)
    (path / "status.json").write_text(json.dumps({"status": "running", "step": 0, "steps": 10}))
    (path / "environment.json").write_text("{}")
    rows = [f"{each},0.1,0.1,,,1.0,{each / 10}" for each in range(step + 1)]
    (path / "metrics.csv").write_text(METRICS + "\n".join(rows) + "\n")
    return RunDirectory(path)


# --- Workers that share a folder. ---


def test_watch_shows_who_trains_what_how_well_and_until_when(results):
    sweep = shared(results, "seed=range(4)")
    worker = SweepWorker(sweep, InProcess(1), via="slurm 7_1")
    claims = worker.claims()
    assert worker.train(next(claims))
    second = next(claims)
    path = sweep.cell(second.cell).path
    begun(results / path, 3)
    with worker.beats.beating():
        worker.beats.begins(path)
        worker.beats.stepped(3, 6)
        worker.beats.show()
        head, row = looked(results)
        assert is_anybody_there(sweep, 60)
    assert not is_anybody_there(sweep, 60)
    assert re.search(r": 4 runs: 1 done, 1 running, 2 waiting; 1 worker; \S+ runs/h; about .* left \(until", head)
    assert re.search(r"\(slurm 7_1\)  (seed=[123]|the defaults)  step 3/6 at \S+ steps/s  since .*s  1 ended", row)
    assert row.endswith("validation accuracy 30.00 %  ▁▅█")


def test_watch_names_what_failed_and_why(results, capsys):
    sweep = shared(results, "seed=0,1")
    worker = SweepWorker(sweep, InProcess(1))
    claims = worker.claims()
    first = next(claims)
    carry_out(end(first, "failed", "RuntimeError: no \x1bmemory"), sweep.folder)
    assert worker.train(next(claims))
    assert watch(results) == 1
    lines = capsys.readouterr().out.splitlines()
    name = sweep.names[sweep.plan["cells"][first.cell][0]]
    assert lines[1:] == [f"  failed: {name}: RuntimeError: no \\x1bmemory"]
    assert f"failed: {name}: RuntimeError" in drawn(SweepView(sweep))


def test_what_failed_and_is_tried_again_is_counted_once(results):
    sweep = shared(results, "seed=0")
    view, worker = SweepView(sweep), SweepWorker(sweep, InProcess(1))
    carry_out(end(next(worker.claims()), "failed", "no memory"), sweep.folder)
    assert (view.snapshot().counts, view.is_ended()) == ({"failed": 1, "held": 0, "free": 0}, True)
    sweep.retry_failed(())
    claim = next(worker.claims())
    again = view.snapshot()
    assert (again.counts, again.failures, view.is_ended()) == ({"held": 1, "free": 0}, {}, False)
    carry_out(end(claim, "failed", "no space"), sweep.folder)
    assert list(view.snapshot().failures.values()) == ["no space"]
    sweep.retry_failed(())
    carry_out(end(next(worker.claims()), "failed", "no disk"), sweep.folder)  # and no look in between
    assert list(view.snapshot().failures.values()) == ["no disk"]


def test_watch_on_a_terminal_is_a_bar_and_a_table(results):
    sweep = shared(results, "seed=0")
    worker = SweepWorker(sweep, InProcess(1))
    with worker.beats.beating():
        shown = drawn(SweepView(sweep))
    assert "looks for a run" in shown
    assert "worker" in shown
    assert "steps/s" not in shown  # a column in which nothing stands
    assert "━━━" in shown
    assert "┏━" in shown  # the whole of the table


@pytest.mark.parametrize(
    ("kind", "columns", "table"), [("xterm", 100, True), ("xterm", 38, False), ("dumb", 100, False), ("", 100, True)]
)
def test_watch_redraws_only_where_a_table_can_be_read(monkeypatch, kind, columns, table):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert redraws() is table


# --- Runs that share nothing. ---


def test_watch_follows_the_last_sweep_of_this_machine(results):
    plan = make_plan([*TINY, f"results_dir={results}", "seed=range(3)"])
    done, running, _ = (cell.path for cell in plan.cells)
    with remembered(plan):
        view = PlannedRuns(results, planned(results))
    (run := begun(done, 10)).finish("done", step=10, steps=10, seconds=1800.0)
    assert run.status["status"] == "done"
    with begun(running, 4).lock():
        head, row = text(view, view.snapshot())
    assert re.search(r"last sweep: 3 runs: 1 done, 1 running, 1 waiting; 1 worker; 2 runs/h; about 48.0 min left", head)
    assert re.search(r"^  seed=1  step 4/10 at \S+ steps/s  since .*validation accuracy 40.00 %", row)
    assert not view.is_ended()


@pytest.mark.parametrize("begins", ["before", "since", "since, with the same cells", "never"])
def test_a_refused_sweep_takes_back_its_own_memory_alone(results, begins):
    own = make_plan([*TINY, f"results_dir={results}", "seed=0,1"])
    other = own if "same" in begins else make_plan([*TINY, f"results_dir={results}", "norm=layer"])
    with ExitStack() as at_work:
        if begins == "before":
            at_work.enter_context(remembered(other))
        with suppress(UserError), remembered(own):
            if begins.startswith("since"):
                at_work.enter_context(remembered(other))
            raise UserError("refused")
        if begins == "never":
            assert not results.exists()
        else:
            assert list(planned(results)) == [cell.path for cell in other.cells]
        assert is_swept(results) is begins.startswith("since")


@pytest.mark.parametrize(
    ("here", "named"), [(".", "."), ("runs", "."), ("runs/x", ".."), ("runs", "../runs"), (".", "runs"), ("runs", "..")]
)
def test_last_sweep_of_the_folder_that_one_stands_in(tmp_path, monkeypatch, here, named):
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / ".last-sweep.json").write_text(json.dumps({"runs": {"runs/x": "norm=batch"}}))
    monkeypatch.chdir(tmp_path / here)
    assert {path.resolve(): name for path, name in below(Path(named)).items()} == {tmp_path / "runs/x": "norm=batch"}
    assert [path.resolve() for path in last_sweep(Path(named))] == [tmp_path / "runs/x"]
    (tmp_path / "chosen").mkdir()
    monkeypatch.chdir(tmp_path / "chosen")
    with pytest.raises(UserError, match=r"--last-sweep: \.: no run of the last sweep lies there"):
        below(Path("."))


def test_watch_of_an_interrupted_sweep_says_that_nobody_works_on_it_and_ends(cli, results):
    plan = make_plan([*TINY, f"results_dir={results}", "seed=0,1"])
    with remembered(plan):
        (view,) = views_of(results)
        assert [text(view, view.snapshot())[0], view.is_ended()] == [
            f"{results}, last sweep: 2 runs: 2 waiting; 0 workers",
            False,  # between two runs, or before the first one
        ]
    (view,) = views_of(results)
    assert "nobody works on it" in drawn(view)
    assert view.is_ended()
    status, stdout, stderr = cli("status", results, "--watch")
    assert (status, stderr) == (1, "")
    assert stdout.splitlines()[1:] == ["  nobody works on it; the command that began it continues it"]


def test_a_shared_sweep_is_looked_at_once_without_watch(cli, results):
    sweep = shared(results, "seed=0,1")
    nobody = "  nobody works on it; the command that began it continues it\n"
    assert cli("status", sweep.path) == (0, f"{sweep.path}: 2 runs: 2 waiting; 0 workers\n{nobody}", "")
    nothing = {"runs": 0, "counts": {}, "unfinished": [], "not_looked_into": []}
    assert json.loads(cli("status", sweep.path, "--json")[1]) == nothing
    SweepWorker(sweep, InProcess(1)).serve()
    assert cli("status", sweep.path) == (0, f"{sweep.path}: 2 runs: 2 done\n", "")
    assert json.loads(cli("status", sweep.path, "--json")[1]) == {**nothing, "runs": 2, "counts": {"done": 2}}


def test_watch_of_a_shared_sweep_without_workers_says_so(results):
    sweep = shared(results, "seed=0,1")
    assert looked(results)[1:] == ["  nobody works on it; the command that began it continues it"]
    worker = SweepWorker(sweep, InProcess(1))
    with worker.beats.beating():
        assert "nobody" not in "".join(looked(results))
    assert worker.serve() == 2
    assert len(looked(results)) == 1


def test_watch_ends_with_the_sweep_and_says_how(cli, results, workers_here):
    assert cli("sweep", *TINY, f"results_dir={results}", "seed=0,1", "jobs=1")[0] == 0
    status, stdout, stderr = cli("status", results, "--watch")
    assert (status, stderr) == (0, "")
    assert stdout == f"{results}, last sweep: 2 runs: 2 done\n"
    (first, _) = find_runs([results])
    first.write_status("failed", cause="RuntimeError: x")
    assert cli("status", first.path, "--watch")[0] == 1


def test_a_pipe_gets_what_is_watched_while_it_goes_on(results):
    plan = make_plan([*TINY, f"results_dir={results}", "seed=0,1"])
    with remembered(plan):
        begun(plan.cells[0].path, 2)
    command = [sys.executable, "-m", "normexp", "status", str(results), "--watch"]
    usual = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=usual) as process:
        ready, _, _ = select.select([process.stdout], [], [], 60)
        line = process.stdout.readline() if ready else ""
        process.kill()
    assert "last sweep: 2 runs" in line


def test_watch_prefers_what_is_not_over(results):
    over = shared(results, "seed=0")
    assert SweepWorker(over, InProcess(1)).serve() == 1
    assert [view.title for view in views_of(results)] == [str(over.path)]
    left = shared(results, "seed=1,2")
    assert [view.title for view in views_of(results)] == [str(left.path)]
    (results / ".last-sweep.json").write_text(json.dumps({"runs": ["runs/x"]}))
    assert [view.title for view in views_of(results)] == [str(left.path), f"{results}, last sweep"]
    planned = {"runs": [path for path, _ in left.plan["cells"]]}
    (results / ".last-sweep.json").write_text(json.dumps(planned))  # that one is the shared one
    assert [view.title for view in views_of(results)] == [str(left.path)]


def test_watch_of_any_folder_of_runs_ends_when_none_is_running(tmp_path):
    with begun(tmp_path / "a", 2).lock():
        begun(tmp_path / "b", 2).write_status("interrupted", step=2, steps=10)
        (view,) = views_of(tmp_path)
        assert "2 runs: 1 stopped, 1 running" in text(view, view.snapshot())[0]
        assert not view.is_ended()
    assert looked(tmp_path) == [f"{tmp_path}: 2 runs: 2 stopped"]
    assert watch(tmp_path) == 0


def test_watch_names_the_folder_that_it_does_not_look_into(tmp_path):
    begun(tmp_path / "here" / "a", 2).write_status("done", step=10, steps=10, seconds=1.0)
    (tmp_path / "here" / "more").symlink_to(tmp_path)
    (view,) = views_of(tmp_path / "here")
    assert "/here; not looked into: " in text(view, view.snapshot())[0]


# --- Curves. ---


def test_spark_goes_from_the_lowest_to_the_highest():
    assert spark([float(each) for each in range(8)]) == BARS
    assert spark([0.5]) == spark([2.0]) == BARS[4]
    assert spark([1.0, float("inf"), 0.0, float("nan")]) == "█!▁!"
    long = spark([float(each) for each in range(1000)])
    assert (len(long), long[0], long[-1]) == (WIDTH, BARS[0], BARS[-1])


@pytest.mark.parametrize("content", ["", "step\n", METRICS, METRICS + "1,0.1,0.1,,,x,y\n", METRICS + "1,0.1\n", "\x00"])
def test_curve_that_cannot_be_read_is_none(tmp_path, content):
    (tmp_path / "metrics.csv").write_text(content)
    assert curve(RunDirectory(tmp_path)) == ("", "")
    assert curve(RunDirectory(tmp_path / "absent")) == ("", "")
