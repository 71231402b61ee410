"""Errors by length are those of recorded runs with that length; one sequence per update is not for batch norm."""

import math
from pathlib import Path

import pytest

from normexp.config import compose
from normexp.errors import UserError
from normexp.records import METRICS, read_rows
from normexp.runs.run import run
from normexp.studies.base import StudyContext
from normexp.studies.sequence_length import SequenceLength, ratio

BASE = ["inputs=none", "model=lstm_classifier", "model.masked=true", "model.hidden=6", "threads=1", "device=cpu"]
BASE += ["dataset.examples=80", "dataset.test=30", "dataset.validation=20", "steps=5", "batch_size=20"]
ADDING = [*BASE, "dataset=adding", "dataset.min_length=4", "dataset.length=9"]
COPY = [*BASE, "dataset=copy", "dataset.items=2", "dataset.min_delay=1", "dataset.delay=4"]


def rows(overrides: list[str], *lengths: int):
    return SequenceLength(lengths=lengths).measure(StudyContext(compose(overrides))).rows


def recorded(overrides: list[str], results: Path, metric: str) -> float:
    run(compose([*overrides, f"results_dir={results}"]))
    (metrics,) = results.glob(f"runs/*/{METRICS}")
    return float(read_rows(metrics)[-1][metric])


@pytest.mark.parametrize("norm", ["none", "recurrent_batch", "layer"])
def test_error_at_a_length_is_that_of_the_recorded_run(results: Path, norm):
    overrides = [*ADDING, f"norm={norm}"]
    error = {row["step"]: row["error"] for row in rows(overrides, 6, 21)}
    assert error[21] == recorded([*overrides, "dataset.test_length=21"], results, "test/rmse")
    assert error[6] != error[21]


def test_error_of_classes_is_the_share_of_wrong_answers(results: Path):
    (row,) = rows(COPY, 11)
    assert row["error"] == 1 - recorded([*COPY, "dataset.test_delay=11"], results, "test/accuracy")


def test_growth_is_relative_to_the_shortest():
    first, second = rows(ADDING, 30, 5, 30)
    assert (first["step"], first["growth"], second["step"]) == (5, 1, 30)
    assert second["growth"] == pytest.approx(second["error"] / first["error"])


def test_ratio_of_perfect_scores():
    assert (ratio(0.0, 0.0), ratio(0.5, 0.0), ratio(0.5, 2.0)) == (1, math.inf, 0.25)


def test_a_data_set_with_one_length_is_refused():
    with pytest.raises(UserError, match="dataset=digits has one length only; use dataset=adding or copy"):
        SequenceLength().measure(StudyContext(compose(["dataset=digits"])))


def test_one_sequence_per_update_is_refused_for_batch_statistics_alone():
    """S000: layer normalization is independent of the batch size, useful when it is one."""
    assert rows([*ADDING, "norm=layer", "batch_size=1"], 6)[0]["error"] > 0
    with pytest.raises(UserError, match=r"batch_size=1 with norm=recurrent_batch: .* one example has no variance"):
        compose([*ADDING, "norm=recurrent_batch", "batch_size=1"])
