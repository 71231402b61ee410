"""The frame: every run directory is a row, every value says whose it is, nothing is lost without a word."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from drawn import learning, made
from fabricated import Fabric

from normexp.errors import UserError
from normexp.experiments.freeze import freeze, frozen_text
from normexp.records import CONFIG, METRICS, PROBES, STATUS, TIMING
from normexp.records.names import FROZEN
from normexp.report.commands.runs import plot_command, table_command
from normexp.report.figures.averages import lines_of
from normexp.report.figures.runs import curves_of
from normexp.report.files import write
from normexp.report.frames.frame import Frame
from normexp.report.frames.reading import experiment_frame, folder_frame, frame_of, joined
from normexp.report.results import load
from normexp.report.tables.runs import table


def test_what_a_notebook_shows_of_runs_is_a_line(fabricate: Fabric) -> None:
    run, _ = fabricate(), fabricate(seed=1)
    assert repr(load(fabricate.root)) == f"Results(2 runs of {fabricate.root})"
    assert repr(load(run)) == f"Results(1 run of {run.path})"
    assert repr(run) == f"RunDirectory(path={run.path!r})"


def test_one_row_per_run_and_one_per_value(fabricate: Fabric) -> None:
    runs = [fabricate(0.9, norm="batch", seed=1), fabricate(0.8, norm="batch", optim__lr=0.3)]
    frame = folder_frame(runs)
    assert list(frame.runs["arm"]) == ["batch, optim.lr=0.1", "batch, optim.lr=0.3"]
    assert list(frame.runs["seed"]) == [1, 0]
    assert list(frame.runs["optim.lr"]) == [0.1, 0.3]
    assert set(frame.runs["norm"]) == {"batch"}
    last = frame.curves.query("metric == 'test/accuracy' and step == 30")
    assert last["value"].tolist() == [0.9, 0.8]
    assert frame.curves.query("metric == 'test/error' and step == 30")["value"].tolist() == [1 - 0.9, 1 - 0.8]
    assert frame.curves.dtypes[["seed", "step", "epoch", "value"]].astype(str).tolist() == [
        "int64", "int64", "float64", "float64"
    ]  # fmt: skip


@pytest.mark.parametrize(("noise", "split"), [({}, "test"), ({"dataset__label_noise": 1.0}, "train")])
def test_labels_drawn_anew_are_learned_on_the_training_split(
    fabricate: Fabric, noise: dict[str, float], split: str
) -> None:
    (record,) = folder_frame([fabricate(**noise)]).records
    assert record.curve.made.learns == split


@pytest.mark.parametrize("status", ["diverged", "failed", "running", "interrupted"])
def test_runs_that_did_not_end_well_are_there_with_their_status(fabricate: Fabric, status: str) -> None:
    frame = folder_frame([fabricate(norm="batch"), fabricate(norm="batch", seed=1, status=status)])
    assert list(frame.runs["status"]) == ["done", status]
    assert set(frame.curves["status"]) == {"done", status}
    assert frame.left_out == ()


def test_linked_folder_is_named_not_skipped_in_silence(fabricate: Fabric, tmp_path: Path) -> None:
    fabricate(norm="batch")
    (fabricate.root / "more").symlink_to(tmp_path)
    (line,) = frame_of([fabricate.root]).left_out
    assert line.startswith(f"Not looked into: {fabricate.root}/more: links are not followed")


def spoil(fabricate: Fabric) -> None:
    """Put beside good runs what a folder of results may hold: failed, half made, foreign, damaged."""
    (fabricate(name="failed", norm="batch", seed=5, status="failed").path / CONFIG).unlink()
    (fabricate(name="half", norm="batch", seed=6, status="running").path / METRICS).write_text("step,tra")
    (fabricate(name="cut", norm="batch", seed=7).path / METRICS).write_text("step,test/accuracy\n30,0.9")
    (fabricate(name="empty", norm="batch", seed=8).path / CONFIG).write_text("")
    (fabricate(name="binary", norm="batch", seed=9).path / METRICS).write_bytes(b"\xff\xfe\x00")
    foreign = fabricate.root / "foreign"
    foreign.mkdir()
    (foreign / STATUS).write_text(json.dumps({"state": "ok"}))


def test_a_folder_with_bad_runs_is_read_and_the_bad_ones_are_named(fabricate: Fabric) -> None:
    fabricate(0.75, norm="batch")
    spoil(fabricate)
    frame = frame_of([fabricate.root])
    assert len(frame.runs) == 7
    states = frame.runs.set_index("run")["status"].to_dict()
    assert {name for name, state in states.items() if state == "damaged"} == {
        "cut", "empty", "binary", "foreign"
    }  # fmt: skip
    assert frame.curves.groupby("run")["value"].count().to_dict() == {"run001": 28 - 3}
    (line,) = frame.left_out
    assert "\n" not in line
    assert all(
        name in line
        for name in ("5 that cannot be used", f"failed ({CONFIG}: ", "cut (", "empty (", "foreign (", "cut off")
    )
    assert str(fabricate.root) not in line


@pytest.mark.parametrize(("content", "cause"), [("a: [", "damaged \\("), (None, "damaged or missing \\(no such file")])
@pytest.mark.parametrize("status", ["interrupted", "done"])
def test_where_no_run_can_be_read_a_file_that_is_there_is_named(
    fabricate: Fabric, status: str, content: str | None, cause: str
) -> None:
    """It was the path of no file, `run/interrupted`, and a damaged configuration was said to be missing."""
    run = fabricate(norm="batch", status=status)
    (run.path / CONFIG).unlink()
    if content is not None:
        (run.path / CONFIG).write_text(content)
    with pytest.raises(UserError, match=rf"^{run.path}/{CONFIG}: {cause}"):
        frame_of([fabricate.root]).check_readable()


def test_table_and_plot_work_beside_bad_runs_and_say_what_they_left_out(fabricate: Fabric) -> None:
    fabricate(0.75, norm="batch")
    spoil(fabricate)
    text = table_command([str(fabricate.root)])
    assert "75.0" in text
    assert "Left out, 5 that cannot be used: " in text
    written = list(plot_command([str(fabricate.root)]))
    assert written
    assert all(path.stat().st_size for path in written)


@pytest.mark.parametrize(("name", "content"), [(TIMING, "step,minutes\n0,1\n"), (PROBES, "step,value\n0,1\n")])
def test_a_run_with_a_damaged_curve_is_left_out_and_one_that_has_not_ended_is_without_it(
    fabricate: Fabric, name: str, content: str
) -> None:
    fabricate(norm="batch", seed=0)
    for seed, status in ((1, "done"), (2, "interrupted")):
        (fabricate(name=status, norm="batch", seed=seed, status=status).path / name).write_text(content)
    frame = frame_of([fabricate.root])
    assert sorted(frame.curves["seed"].unique()) == [0, 2]
    assert frame.probes.empty
    (line,) = frame.left_out
    assert "1 that cannot be used: done" in line
    assert f"{name}: damaged (no" in line


def test_an_experiment_has_its_arms_axes_and_the_runs_that_are_missing(fabricate: Fabric) -> None:
    ours = made(fabricate)
    ours.run(learning)
    whole = experiment_frame(ours.experiment, fabricate.root)
    assert set(whole.runs["status"]) == {"done"}
    assert list(dict.fromkeys(whole.runs["arm"])) == list(ours.experiment.arms)
    assert len(whole.runs) == len(ours.experiment.arms) * len(ours.experiment.points())
    (fabricate.root / whole.runs["run"][0] / STATUS).unlink()
    assert experiment_frame(ours.experiment, fabricate.root).runs["status"][0] == "new"


def test_an_experiment_of_ones_own_keeps_its_grid_where_a_config_is_damaged(fabricate: Fabric) -> None:
    """The first run's point was taken for the grid, and the table averaged over its axis."""
    ours = made(fabricate, grid={"batch_size": [8, 16], "seed": [0, 1]})
    ours.run(learning)
    freeze(ours.experiment, fabricate.root)
    arm, _, run = ours.places()[0]
    (run.path / CONFIG).write_text("norm: {_target_: [")
    frame = frame_of([fabricate.root])
    assert frame.axes == ("batch_size",)
    rows = [(row[0], row[1], row[2]) for row in table(frame).rows]
    assert rows == [("8", arm, "1"), ("16", arm, "2"), ("8", "With BN", "2"), ("16", "With BN", "2")]


def test_a_run_with_other_settings_than_its_experiment_has_today_is_stale_and_left_out(fabricate: Fabric) -> None:
    ours = made(fabricate)
    ours.run(learning)
    later = replace(ours.experiment, common={**ours.experiment.common, "optim.lr": 0.3})
    frame = experiment_frame(later, fabricate.root)
    assert set(frame.runs["status"]) == {"stale"}
    assert frame.curves.empty
    assert "optim.lr was 0.1" in frame.left_out[0]
    assert "and is 0.3 now" in frame.left_out[0]


def test_runs_of_an_experiment_and_others_are_drawn_in_panels_of_their_own(fabricate: Fabric) -> None:
    ours = made(fabricate)
    ours.run(learning)
    drawn = curves_of(joined([experiment_frame(ours.experiment, fabricate.root), folder_frame([fabricate()])]))
    experiment = f"{ours.experiment.name} · {ours.experiment.scale}"
    assert {panel.title for panel in drawn.panels.values()} == {experiment, "digits · cnn"}


def test_two_scales_of_an_experiment_are_drawn_in_panels_of_their_own(fabricate: Fabric) -> None:
    """One line was the mean over both, and nothing said so; nor over data sets that a grid has, which have no line."""
    both = [made(fabricate, scale, grid={"dataset": ["digits", "mnist"], "seed": [0, 1]}) for scale in ("cpu", "paper")]
    for each in both:
        each.run(learning)
    drawn = curves_of(joined([experiment_frame(each.experiment, fabricate.root) for each in both]), "test/accuracy")
    assert [panel.title for panel in drawn.panels.values()] == [
        "x · cpu · digits", "x · cpu · mnist", "x · paper · digits", "x · paper · mnist"
    ]  # fmt: skip
    assert {line.runs for panel in drawn.panels for line in lines_of(drawn, panel)} == {2}


@pytest.mark.slow
def test_an_experiment_of_two_folders_is_one_in_each(tmp_path: Path) -> None:
    """A colleague's records beside one's own had the same names, at which tables and figures failed."""
    for place, folder in enumerate(("mine", "theirs/results")):
        fabric = Fabric(tmp_path / folder)
        for arm in ("none", "batch"):
            for seed in (0, 1):
                fabric(0.6 + place / 10 + seed / 100, name=f"own/cpu/runs/{arm}/seed={seed}", norm=arm, seed=seed)
        content = {"arm": {"none": {}, "batch": {}}, "grid": {}}
        write(fabric.root / "own" / "cpu" / FROZEN, frozen_text(content, None, "2026-01-01"))
    folders = [str(tmp_path / "mine"), str(tmp_path / "theirs")]
    frame = frame_of(folders)
    assert set(frame.runs["experiment"]) == {"mine/own", "theirs/results/own"}
    assert frame.runs["run"].is_unique
    text = table_command(folders)
    assert re.search(r"mine/own +\| none +\| +2 +\| +2/2 +\| +60.5", text)
    assert re.search(r"theirs/results/own +\| none +\| +2 +\| +2/2 +\| +70.5", text)
    assert plot_command(folders, out=str(tmp_path / "out"))


def test_a_frame_costs_neither_pandas_nor_torch_before_it_is_asked() -> None:
    code = "import sys, normexp.report.frames.reading; print({'pandas', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_frame_without_curves_has_its_columns() -> None:
    empty = Frame((), ("norm.eps",))
    assert list(empty.curves) == [
        "run", "experiment", "scale", "arm", "norm.eps", "seed", "status", "step", "epoch", "metric", "value"
    ]  # fmt: skip
    assert empty.probes.empty
