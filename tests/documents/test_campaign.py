"""docs/campaign.md tells what the committed records cost and what is declared without them."""

import importlib.util

from normexp.experiments.load import read
from normexp.records.archive import packed
from tests.documents.evidence import TOP

spec = importlib.util.spec_from_file_location("make_campaign", TOP / "scripts" / "make_campaign.py")
campaign = importlib.util.module_from_spec(spec)
spec.loader.exec_module(campaign)


def test_the_tables_are_those_of_the_records():
    text = campaign.DOCUMENT.read_text(encoding="utf-8")
    assert text == campaign.written(text), "run python scripts/make_campaign.py"


def test_runs_that_choose_are_all_combinations_of_all_seeds_at_every_place():
    assert campaign.trials(read("digits_rates_grid", "cpu")) == 4 * 6 * 2 * 3
    assert campaign.declared(read("which_norm_gpt", "cpu"))[2:] == ["5", "5", "250", str(5 * 5 * 2 * 7 * 3)]
    assert campaign.trials(read("digits_five_schemes", "cpu")) == 0
    assert campaign.trials(read("which_norm", "desk")) == 10 * (5 + 2)  # two rungs


def test_what_is_trained_in_part_stays_declared(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "TOP", tmp_path)
    folder = tmp_path / "results" / "which_norm" / "desk"
    for place, point in (("runs/batch", "seed=1"), ("select/layer", "optim.lr=0.2,seed=100,steps=176")):
        (folder / place).mkdir(parents=True)  # of many records every arm has its own archive
        (folder / place / "records.zip").write_bytes(packed({f"{point}/status.json": b'{"status": "done"}'}))
    assert ["which_norm", "desk", "10", "5", "50", "70", "1", "1"] in list(campaign.waiting())
    assert [row[:2] for row in campaign.spent()] == [["which_norm", "desk"]]


def test_fresh_seeds_are_few_and_for_open_claims():
    rows = list(campaign.decidable())
    assert rows
    assert all(
        0 < int(decided) <= int(left) and int(seeds) <= campaign.MOST_SEEDS for *_, left, decided, seeds, _ in rows
    )
