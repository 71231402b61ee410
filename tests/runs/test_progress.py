"""What a person sees: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

import sys

import pytest

from normexp.runs import progress
from normexp.runs.progress import NullProgress, ProgressReporter

ROW = {"train/loss": 0.5, "train/accuracy": 0.8, "test/loss": 0.6, "test/accuracy": 0.75}


def test_progress_prints_plain_lines_where_there_is_no_terminal(capsys):
    shown = ProgressReporter(steps=100, steps_per_epoch=50, batch_size=8)
    shown.evaluated(50, ROW)
    shown.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("epoch 1/2  step 50/100  train loss 0.5  train accuracy 80.00 %  ")
    assert err.endswith(" s left\n")


def test_epochs_are_counted_as_people_count_them():
    shown = ProgressReporter(steps=40, steps_per_epoch=19, batch_size=8)
    assert [shown._epoch(done) for done in (1, 19, 20, 40)] == ["1/3", "1/3", "2/3", "3/3"]


def test_progress_prints_lines_seldom_but_always_the_last(capsys):
    shown = ProgressReporter(steps=100, steps_per_epoch=50, batch_size=8)
    for step in (10, 20, 30, 100):
        shown.evaluated(step, ROW)
    assert [line.split()[3] for line in capsys.readouterr().err.splitlines()] == ["10/100", "100/100"]


def test_progress_prints_nothing_when_quiet(capsys):
    shown = NullProgress(steps=100, steps_per_epoch=50, batch_size=8)
    shown.poll(10, 0.5)
    shown.evaluated(100, ROW)
    shown.close()
    assert capsys.readouterr() == ("", "")


def test_progress_says_nothing_of_step_0(capsys):
    ProgressReporter(steps=100, steps_per_epoch=50, batch_size=8).evaluated(0, {"test/loss": 2.3, "test/accuracy": 0.1})
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_a_bar_with_everything_in_it(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = ProgressReporter(steps=100, steps_per_epoch=50, batch_size=8)
    shown.evaluated(25, ROW)
    shown.poll(50, 0.4)
    shown._bar.refresh()
    shown.close()
    err = capsys.readouterr().err
    for part in ("epoch 1/2", " left", "loss 0.4", "train accuracy 80.00 %", "images/s"):
        assert part in err
    assert "\n" not in err.rstrip("\r\n ")


def test_progress_of_a_continued_run_counts_its_own_speed(monkeypatch):
    clock = iter([0.0, 2.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "tqdm", lambda **options: None)
    assert ProgressReporter(steps=100, steps_per_epoch=50, batch_size=8, done=60)._speed(70) == 40  # 80 images in 2 s


def test_progress_shows_regression_scores_as_numbers(capsys):
    ProgressReporter(steps=9, steps_per_epoch=3, batch_size=8).evaluated(9, {"train/loss": 0.25, "test/rmse": 131.25})
    assert "test rmse 131.2" in capsys.readouterr().err


@pytest.mark.parametrize("split", ["validation", "train"])
def test_progress_keeps_the_test_split_for_the_end(split, capsys):
    shown = ProgressReporter(steps=100, steps_per_epoch=50, batch_size=8)
    for step in (50, 100):
        shown.evaluated(step, {**ROW, f"{split}/accuracy": 0.7})
    assert shown._score == f", {split} accuracy 70.00 %"
    middle, end = capsys.readouterr().err.splitlines()
    assert f"{split} accuracy 70.00 %" in middle
    assert "test" not in middle
    assert "test accuracy 75.00 %" in end
