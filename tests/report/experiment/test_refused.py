"""An arm that the program refuses is a row of the table, with the program's own words under it."""

import csv

import pytest
from drawn import learning, made
from fabricated import Fabric

from normexp.config import compose
from normexp.errors import Impossible, UserError
from normexp.report.experiment.render import render
from normexp.report.experiment.table import experiment_table
from normexp.report.frames.measured import read_measured
from normexp.report.tables.formats import csv_text

ONE = {"With BN, one image": {"norm": "batch", "batch_size": 1}}


def test_refused_arm_is_a_row_without_numbers(fabricate: Fabric) -> None:
    ours = made(fabricate, refused=ONE)
    ours.run(learning)
    table = experiment_table(ours.experiment, read_measured(ours.experiment, fabricate.root), {})
    assert [row[0] for row in table.rows] == ["Plain", "With BN", "With BN, one image"]
    assert table.rows[-1] == ["With BN, one image", "-", "refused", "-"]
    assert list(csv.DictReader(csv_text(table).splitlines()))[-1]["verdict"] == "refused"
    assert not [note for note in table.notes["Set-up"] if note.startswith("Verdict")]


def test_a_verdict_that_is_none_is_explained_below_the_table(fabricate: Fabric) -> None:
    """A column of `scaled` beside published numbers told nobody what that is."""
    printed = {"arm": "Plain", "metric": "test/accuracy", "at": "last", "value": ".5", "place": "row 1"}
    ours = made(fabricate, published=[printed])
    ours.run(learning)
    table = experiment_table(ours.experiment, read_measured(ours.experiment, fabricate.root), {})
    assert "scaled" in table.rows[0]
    assert any(note.startswith("Verdict: scaled where") for note in table.notes["Set-up"])


def test_refusal_is_in_the_words_of_the_program(fabricate: Fabric) -> None:
    ours = made(fabricate, refused=ONE)
    ours.run(learning)
    render(ours.experiment, fabricate.root)
    with pytest.raises(Impossible) as refusal:
        compose(["dataset=digits", "norm=batch", "batch_size=1"])
    text = (fabricate.root / "x" / "cpu" / "table.md").read_text()
    assert f"With BN, one image was refused: {refusal.value}." in text


def test_arm_that_would_run_is_not_refused(fabricate: Fabric) -> None:
    with pytest.raises(UserError, match="'LN' would be run"):
        made(fabricate, refused={"LN": {"norm": "layer", "batch_size": 1}}).experiment.refusals()
