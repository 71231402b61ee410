"""What is committed as made from the records is what they make: tables, verdicts, the ledger, docs/sources.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from sources_document import page

from normexp.evidence.audit import cited
from normexp.evidence.sensitivity import FEWEST
from normexp.experiments.load import load, read
from normexp.records.names import CLAIMS
from normexp.report.commands.ledger import LEDGER
from normexp.report.commands.named import recorded
from normexp.report.experiment.render import NothingTrained, rendered, texts
from normexp.report.frames.chosen import RATE
from normexp.report.ledger.claims import as_markdown
from normexp.report.ledger.judged import read_reports, records_alone
from normexp.report.ledger.sources import entries, summary
from normexp.report.links import markdown_links
from tests.documents.evidence import RESULTS, TOP

FOLDERS = recorded([], {"results_dir": str(RESULTS)})


def ledger(*more: str) -> str:
    reports = records_alone(read_reports(RESULTS))
    return markdown_links(cited("\n".join([*as_markdown(reports), *more]).rstrip() + "\n"))


def test_the_ledger_is_that_of_the_verdicts() -> None:
    assert (RESULTS / LEDGER).read_text(encoding="utf-8").startswith(ledger()), "run normexp claims"


@pytest.mark.slow
def test_ledger_and_page_of_sources_are_those_of_the_printed_numbers() -> None:
    found, reports = entries(RESULTS), read_reports(RESULTS)
    assert (RESULTS / LEDGER).read_text(encoding="utf-8") == ledger(*summary(found)), "run normexp claims"
    written = (TOP / "docs" / "sources.md").read_text(encoding="utf-8")
    assert written == page(found, reports), "run scripts/make_sources.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of a control that explodes
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_tables_and_verdicts_are_those_of_the_records(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normexp.report.experiment.render._figures", lambda *_: [])  # are not looked at
    try:
        content = rendered(load(folder.parent.name, folder.name), RESULTS)
    except NothingTrained:  # of what is begun there may be runs that choose, and no table
        assert not (folder / "table.md").exists()
        return
    made = texts(content, RESULTS)
    verdicts = json.loads(made.pop(CLAIMS))
    for name, text in made.items():
        assert (folder / name).read_text(encoding="utf-8") == text, f"{name}: run normexp report {folder.parent.name}"
    assert_close(json.loads((folder / CLAIMS).read_text(encoding="utf-8")), verdicts)


def test_every_experiment_with_three_rates_shows_what_each_does() -> None:
    shown = []
    for folder in FOLDERS:
        experiment = read(folder.parent.name, folder.name)
        searched = experiment.select.search if experiment.select else {}
        if len(searched.get(RATE, [])) >= FEWEST and (folder / "table.md").exists():
            shown += [folder / "selection.png", folder / "sensitivity.md"]
        if len(experiment.grid.get(RATE, [])) >= FEWEST:
            (figure, *_) = (each for each in experiment.figures if each.kind == "against" and each.axis == RATE)
            shown.append(folder / f"{figure.name}.png")
    assert len(shown) > 20
    assert [path for path in shown if not path.exists()] == []


def assert_close(written: Any, made: Any) -> None:
    """Compare what JSON holds; numbers, which another processor's exp and log end otherwise, to nine digits."""
    assert type(written) is type(made)
    if isinstance(made, dict):
        assert list(written) == list(made)
        for key, value in made.items():
            assert_close(written[key], value)
    elif isinstance(made, list):
        assert len(written) == len(made)
        for each, other in zip(written, made, strict=True):
            assert_close(each, other)
    else:
        assert written == (pytest.approx(made, rel=1e-9, abs=1e-15) if isinstance(made, float) else made)


def test_a_verdict_is_compared_to_nine_digits() -> None:
    assert_close({"a": [1.0, "b"]}, {"a": [1.0 + 1e-12, "b"]})
    for other in ({"a": [1.0 + 1e-6, "b"]}, {"a": [1.0, "c"]}, {"a": [1.0]}, {"a": [1, "b"]}, {"b": [1.0, "b"]}):
        with pytest.raises(AssertionError):
            assert_close({"a": [1.0, "b"]}, other)
