"""The replay of successive halving over recorded curves: its committed table is what the committed records give."""

from pathlib import Path

import pytest

from normexp.bench import trained_halving
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


@pytest.mark.slow
def test_beside_its_own_grid_a_rung_from_which_all_go_on_finds_every_choice(monkeypatch):
    """Fewer that go on find fewer: with one, what the short trials prefer."""
    monkeypatch.setattr(trained_halving, "WHOLE", trained_halving.SHORT)
    rows = trained_halving.rows(TOP / "results", trained_halving.further(TOP / "results"))
    found = [row[1:] for row in rows if row[0].endswith("whole runs")]
    assert found == [
        ["all for 176 steps", "0.25", "10", "2", "2 of 8"],
        ["all for 176 steps, 2 for 704", "0.65", "10", "5", "1 of 5"],
        ["all for 176 steps, 3 for 704", "0.85", "10", "9", "0 of 1"],
        ["all for 704 steps", "1.00", "10", "10", "0 of 0"],
        ["all for 176 steps, 4 for 1170", "1.58", "10", "5", "2 of 5"],
        ["all for 704 steps, 2 for 1170", "1.66", "10", "8", "1 of 2"],
        ["all for 1170 steps", "1.66", "10", "6", "2 of 4"],
        ["all for 704 steps, 2 for 704", "1.40", "10", "10", "0 of 0"],
        ["all for 704 steps, 3 for 704", "1.60", "10", "10", "0 of 0"],
    ]


@pytest.mark.slow
def test_what_is_within_noise_further_seeds_tell_and_without_them_that_of_the_choice():
    """A third of the steps chooses another rate for weight normalization alone."""

    def thirds(known: trained_halving.Grid) -> list[str]:
        rows = trained_halving.rows(TOP / "results", known)
        return next(row[3:] for row in rows if row[1:3] == ["all for 1170 steps", "0.33"])

    assert thirds(trained_halving.further(TOP / "results")) == ["10", "9", "1 of 1"]
    assert thirds({}) == ["10", "9", "0 of 1"]
