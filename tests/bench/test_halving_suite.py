"""The replay of successive halving over recorded curves: its committed table is what the committed records give."""

from pathlib import Path

import pytest

from normexp.bench.suites import halving

TOP = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_committed_table_follows_from_the_committed_records(monkeypatch):
    monkeypatch.setattr(halving, "RESULTS", TOP / "results")
    (result,) = halving.run(False, 1, ())
    assert result.markdown() == (TOP / "results/bench/halving.md").read_text()


def test_one_rung_of_everything_is_the_full_grid(monkeypatch):
    monkeypatch.setattr(halving, "RESULTS", TOP / "results")
    experiment = halving.load("digits_rates_grid", "cpu")
    for place in experiment.choices(list(experiment.arms)).values():
        full, chosen = halving.replayed(experiment, [400], [], *place)
        assert full == chosen
