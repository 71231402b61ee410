"""docs/campaign.md tells what the committed records cost and what is declared without them."""

import json
from dataclasses import replace

import make_campaign as campaign
import pytest

from normexp.experiments.load import read
from normexp.experiments.selection import choice_path
from normexp.records.archive import packed


@pytest.mark.slow
def test_the_tables_are_those_of_the_records():
    text = campaign.DOCUMENT.read_text(encoding="utf-8")
    assert text == campaign.written(text), "run python scripts/make_campaign.py"


def test_runs_that_choose_are_all_combinations_of_all_seeds_at_every_place():
    assert campaign.trials(read("digits_rates_grid", "cpu")) == 4 * 6 * 2 * 3
    assert campaign.declared(read("which_norm_gpt", "cpu"))[2:] == ["5", "5", "250", str(5 * 5 * 2 * 7 * 3)]
    assert campaign.trials(read("digits_five_schemes", "cpu")) == 0
    assert campaign.trials(read("which_norm", "desk")) == 10 * (5 + 2 + 2 * 2)  # two rungs, and `ties`


def test_what_is_trained_in_part_stays_declared(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "TOP", tmp_path)
    folder = tmp_path / "results" / "which_norm" / "desk"
    for place, point in (("runs/batch", "seed=1"), ("select/layer", "optim.lr=0.2,seed=100,steps=176")):
        (folder / place).mkdir(parents=True)  # of many records every arm has its own archive
        (folder / place / "records.zip").write_bytes(packed({f"{point}/status.json": b'{"status": "done"}'}))
    assert ["which_norm", "desk", "10", "5", "50", "110", "1", "1"] in list(campaign.waiting())
    assert [row[:2] for row in campaign.spent()] == [["which_norm", "desk"]]


def test_a_run_that_two_experiments_have_counts_once(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "TOP", tmp_path)
    trained = {"seed=100/status.json": b'{"status": "done", "seconds": 7200}', "seed=100/config.yaml": b"seed: 100"}
    for name, arm in (("which_norm", "batch"), ("which_norm_rates", "batch_again")):
        folder = tmp_path / "results" / name / "desk" / "runs" / arm
        folder.mkdir(parents=True)
        (folder / "records.zip").write_bytes(packed(trained))
    assert [row[4:] for row in campaign.spent()] == [["1", "2.00"], ["0", "0.00"]]


TIED = {  # two rates of one arm within noise, those of another apart; 5,000 validation images
    "batch": [[0.2, [0.9]], [0.8, [0.901]]],
    "layer": [[0.2, [0.9]], [0.8, [0.7]]],
}


@pytest.mark.parametrize(
    ("ties", "trained", "waits"), [([], False, False), ([101, 102], False, True), ([101, 102], True, False)]
)
def test_best_two_that_lie_within_noise_wait_for_the_further_seeds(tmp_path, monkeypatch, ties, trained, waits):
    monkeypatch.setattr(campaign, "TOP", tmp_path)
    experiment = read("which_norm", "desk")
    experiment = replace(experiment, select=experiment.select.model_copy(update={"ties": ties}))
    tried = {arm: [trial(*each) for each in trials] for arm, trials in TIED.items()}
    if trained:
        tried["batch"] += [trial(rate, [0.9, 0.8, 0.9], seeds=[100, *ties]) for rate in (0.2, 0.8)]
    path = choice_path(experiment, tmp_path / "results")
    path.parent.mkdir(parents=True)
    chosen = {arm: {"optim.lr": 0.2} for arm in tried}
    path.write_text(json.dumps({"chosen": chosen, "tried": tried, "metric": "validation/accuracy", "seeds": [100]}))
    assert campaign.are_tied(experiment) is waits
    assert campaign.trials(experiment) == 10 * (5 + 2 + 2 * len(ties))


def trial(rate, scores, **seeds):
    mean = sum(scores) / len(scores)
    return {"values": {"optim.lr": rate}, "steps": 704, **seeds, "scores": scores, "mean": mean}


def test_fresh_seeds_are_few_and_for_open_claims():
    rows = list(campaign.decidable())
    assert rows
    assert all(
        0 < int(decided) <= int(left) and int(seeds) <= campaign.MOST_SEEDS for *_, left, decided, seeds, _ in rows
    )


def test_claims_that_seeds_which_agree_would_decide_are_counted():
    """`reproduce --power` said of two claims that 8 fresh seeds that agree can decide; the table had neither."""
    agree = {"n": 5, "p": 2 * 0.5**5, "fresh_seeds": None}
    assert campaign.fresh_seeds(agree, 4, None) == 8
    assert campaign.fresh_seeds({**agree, "p": 0.3}, 4, None) is None
    assert campaign.fresh_seeds({**agree, "fresh_seeds": {"observed": 33}}, 4, None) == 33
