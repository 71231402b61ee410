"""Mistakes found in other tools, each as a test that our statistics do not make it.

Traps about sweeps, processes, checkpoints and resuming are in test_sweep*.py, test_checkpoint.py and test_run.py; about
files that are half written in test_run_directory.py; about the data's folder in test_identity.py; about the rows of a
table (its metrics' names, the divisor n - 1, the last row, runs that diverged, rows that were cut off) in
test_tables.py and test_measurements.py; about improvements and previews that pass for results in test_verdicts.py.
"""

import csv
import math
import statistics
from pathlib import Path

import numpy as np
import pytest
import yaml
from claim_maker import check_claim, claim_data
from curve_maker import METRIC, along, cells, curve, finals

from normexp.config import compose
from normexp.evidence.claims import judge
from normexp.evidence.curves import Curves
from normexp.evidence.stats import (
    EquivalenceTest,
    holm,
    median,
    one_sample,
    paired,
    paired_differences,
    standard_deviation,
)
from normexp.evidence.stats.interval import Interval
from normexp.evidence.verdicts import published_verdict
from normexp.records import CONFIG, METRICS, CurveFile, RunDirectory
from normexp.report.frames.reading import folder_frame
from normexp.report.tables.formats import FORMATS
from normexp.report.tables.runs import table

NAN, INF = math.nan, math.inf
CHOICES = {"dataset": "digits", "inputs": "standardize", "model": "cnn", "norm": "none", "optim": "sgd"}


def record(folder: Path, seed: int, accuracies: list[float], status: str = "done", **choices: str) -> RunDirectory:
    """Write a finished run, evaluated every 10 steps."""
    run = RunDirectory(folder / f"{'-'.join(choices.values())}seed={seed}")
    run.path.mkdir(parents=True)
    config = {"seed": seed, "norm": {}, "_choices_": {**CHOICES, **choices}, "_changes_": {}}
    (run.path / CONFIG).write_text(yaml.safe_dump(config))
    file = CurveFile(run.path / METRICS, ["step", METRIC])
    file.start(keep_until=-1)
    for i, accuracy in enumerate(accuracies):
        file.append({"step": 10 * i, METRIC: accuracy})
    run.write_status(status, step=10 * (len(accuracies) - 1))
    run.write_environment({})
    return run


def csv_row(runs: list[RunDirectory]) -> dict[str, str]:
    (row,) = csv.DictReader(FORMATS["csv"](table(folder_frame(runs))).splitlines())
    return row


def said(curves: Curves, word: str, **keys: object) -> str:
    data = claim_data(word, metric=METRIC, **keys)
    return judge([check_claim(data, ("BN", "plain"), (METRIC,))], curves)[0].verdict


# "if seed:", where seed 0 means that there is none


def test_seed_0_is_a_seed_in_pairs() -> None:
    assert paired_differences({0: 1.0, 1: 2.0}, {0: 0.5, 1: 0.5}) == {0: 0.5, 1: 1.5}
    estimate = paired({0: 1.0, 1: 2.0}, {0: 0.5, 1: 0.5})
    assert estimate is not None
    assert estimate.n == 2


def test_seed_0_is_a_seed_of_the_records(tmp_path: Path) -> None:
    runs = [record(tmp_path, seed, [0.1, 0.9]) for seed in (0, 1)]
    assert list(folder_frame(runs).runs["seed"]) == [0, 1]
    assert compose(["seed=0"]).identity != compose(["seed=1"]).identity


# A statistics library that ignores its seed, or draws from the global state


def test_no_statistic_draws_random_numbers() -> None:
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    first = [one_sample([0.3, 0.1, NAN, 0.2, 0.9, 0.4]), paired({0: 0.1, 1: INF, 2: 3.0}, {0: 0.2, 1: 0.4, 2: 0.1})]
    intervals = [estimate.confidence_interval() for estimate in first if estimate]
    assert (np.random.get_state()[1] == state).all()
    np.random.seed(2)
    assert [estimate.confidence_interval() for estimate in first if estimate] == intervals


# The least of a mapping's keys instead of its values


def test_keys_are_never_taken_for_values() -> None:
    seeds = (100, 7, 3)
    arm = {seed: curve([0.1, 0.9 + seed / 1e5]) for seed in seeds}
    plain = {seed: curve([0.1, 0.5 + seed / 2e5]) for seed in seeds}
    assert said(cells(BN=arm, plain=plain), "lowest", of="plain") == "holds"
    values = dict(zip(seeds, (0.5, 0.501, 0.499), strict=True))
    assert published_verdict(values, "0.5", 0.1, "paper").verdict == "reproduced"


# "all(x) == 0", where one accuracy of 0.0 deletes all


def test_accuracy_of_zero_is_a_value(tmp_path: Path) -> None:
    runs = [record(tmp_path, seed, [0.1, value]) for seed, value in enumerate([0.0, 0.5])]
    assert float(csv_row(runs)["test_accuracy_mean"]) == 0.25
    assert median([0.0, 0.0, 0.5], larger_is_better=True) == 0.0
    zeros = cells(BN=finals([0.9, 0.91, 0.92, 0.93]), plain=finals([0.0, 0.0, 0.0, 0.0]))
    assert said(zeros, "higher", than="plain", margin=0.5) == "holds"
    assert said(cells(BN=finals([0.0])), "equals", value=0.0, margin=0.0) == "holds"


# The epochs after a divergence filled with the first ones, or the whole curve returned as empty


def test_diverged_run_is_not_filled_in() -> None:
    diverged = {seed: curve([0.1, 0.95, 0.96], status="diverged") for seed in range(5)}
    fine = finals([0.9, 0.91, 0.92, 0.91, 0.9])
    for at in ("last", "best", "mean"):
        assert said(cells(BN=fine, plain=diverged), "higher", than="plain", at=at) == "holds"


def test_diverged_run_without_any_evaluation_still_counts() -> None:
    lost = {seed: curve([], status="diverged") for seed in range(5)}
    curves = cells(BN=finals([0.9, 0.91, 0.92, 0.91, 0.9]), plain=lost)
    assert said(curves, "higher", than="plain") == "holds"
    assert said(curves, "never_reaches", of="plain", target=0.5) == "holds"
    assert judge([check_claim(claim_data("diverges", of="plain"), ("BN", "plain"), ())], curves)[0].n == 5


# Seeds that did not converge dropped, which flatters the mean


def test_dropping_diverged_seeds_cannot_win_a_comparison() -> None:
    lucky = [0.99, 0.991, NAN, NAN, NAN]
    steady = [0.95, 0.951, 0.952, 0.953, 0.954]
    assert statistics.mean(lucky[:2]) > statistics.mean(steady)  # what dropping would report
    assert median(lucky, larger_is_better=True) < median(steady, larger_is_better=True)
    assert said(cells(BN=finals(lucky), plain=finals(steady)), "higher", than="plain") != "holds"


# "p >= 0.05" read as reproduced; the p-value of one run is NaN and NaN reads as "not significant". The three cases
# were measured: one run at 0.40, three scattered ones, three tight ones 0.001 below the published 0.85.


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([0.40], "undecided"), ([0.84, 0.60, 0.86], "undecided"), ([0.8490, 0.8491, 0.8489], "reproduced")],
)
def test_no_difference_shown_is_not_reproduced(values: list[float], verdict: str) -> None:
    assert published_verdict(dict(enumerate(values)), "0.850", 0.005, "paper").verdict == verdict


@pytest.mark.parametrize("values", [[], [0.85], [NAN], [NAN, NAN], [0.85, NAN], [0.85, 0.85]])
def test_nothing_known_is_never_reproduced(values: list[float]) -> None:
    assert published_verdict(dict(enumerate(values)), "0.85", 0.005, "paper").verdict != "reproduced"


def test_nan_never_reads_as_fine() -> None:
    estimate = one_sample([NAN, 0.85, NAN])
    assert estimate is not None
    assert EquivalenceTest.of(estimate, Interval(0.84, 0.86)).p == 1.0
    assert all(map(math.isnan, holm([NAN, NAN])))
    assert not holm([NAN, 0.03])[1] < 0.05
    assert math.isnan(standard_deviation([0.85]))
    for word in ("higher", "lower"):
        assert said(cells(BN=finals([NAN] * 6), plain=finals([NAN] * 6)), word, than="plain") == "undecided"
    broken = {seed: curve([0.1, NAN]) for seed in range(5)}  # "done", yet its metric is not a number
    assert said(cells(BN=broken), "within", value=0.9, margin=0.5) == "undecided"
    for value in (0.0, 0.9):
        assert said(cells(BN=broken), "equals", value=value, margin=0.5) == "contradicted"


def test_equal_seeds_are_no_certainty() -> None:
    same = published_verdict({0: 0.85, 1: 0.85}, "0.85", 0.005, "paper")
    assert same.verdict == "undecided"


# Columns that shift, or a file that is emptied, when a run continues


def test_continued_file_keeps_its_columns_and_rows(tmp_path: Path) -> None:
    file = CurveFile(tmp_path / METRICS, ["step", "a", "b"])
    file.start(keep_until=-1)
    file.append({"step": 0, "a": 1.0, "b": 2.0})
    file.append({"step": 10, "b": 4.0})  # without its `a`
    file.append({"step": 20, "a": 5.0, "b": 6.0})
    again = CurveFile(tmp_path / METRICS, ["step", "a", "b"])
    again.start(keep_until=10)
    again.append({"step": 20, "b": 8.0, "a": 7.0})
    rows = list(csv.reader((tmp_path / METRICS).read_text().splitlines()))
    assert rows == [["step", "a", "b"], ["0", "1.0", "2.0"], ["10", "", "4.0"], ["20", "7.0", "8.0"]]


# The first of names sorted as text taken for the latest, or 16 before 2


def test_numbers_are_sorted_as_numbers() -> None:
    steps = {value: finals([0.5 + value / 1000 + 0.001 * s for s in range(5)]) for value in (128, 16, 2)}
    claim = claim_data("increasing_in", metric=METRIC, axis="batch")
    checked = check_claim(claim, ("BN",), (METRIC,), {"batch": list(steps)})
    assert judge([checked], along("BN", "batch", steps))[0].verdict == "holds"


# A cell without runs averaged away


def test_missing_cell_is_said_not_averaged_over() -> None:
    curves = along("BN", "batch", {2: finals([0.9] * 5), 16: finals([0.9] * 5)}) | along(
        "plain", "batch", {16: finals([0.5] * 5)}
    )
    assert said(curves, "higher", than="plain") == "undecided"


def test_infinite_speed_up_is_not_claimed_from_a_baseline_that_merely_ended() -> None:
    fast = {seed: curve([0.5, 0.9 + 0.001 * seed, 0.9]) for seed in range(5)}
    slow = {seed: curve([0.5, 0.5, 0.5 + 0.001 * seed]) for seed in range(5)}
    keys = {"than": "plain", "target": 0.9, "value": 14}
    assert said(cells(BN=fast, plain=slow), "ratio_at_least", **keys) == "undecided"
    assert said(cells(BN=fast, plain=slow), "ratio_at_least", **{**keys, "value": 1.5}) == "holds"
