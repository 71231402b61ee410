"""The verdict on a printed number: by its digits."""

from collections import Counter

import pytest
from one_line import one_line_error
from sources_document import is_from, page, quoted_results, slips

from normexp.evidence.audit import CORRECT, DEPENDS, DOCUMENTS, OWN, ROUNDED, WRONG, audited, counted, judged
from normexp.report.ledger.judged import Report
from normexp.report.ledger.sources import Entry, entries, ranged, summary

HEAD = "document,place,quantity,printed,computed,verdict,reading,remark"
CASES = [
    ("0.209", 0.20869, CORRECT),
    ("-0.717", -0.71648, ROUNDED),  # the lecture's own slip
    ("0.08", 0.0875, ROUNDED),  # cut off
    ("0.09", 0.0875, CORRECT),
    (".02", 0.002969, WRONG),
    ("140", 140.0, CORRECT),
    ("141", 140.0, WRONG),
    ("2.5", 2.45, CORRECT),  # a tie may go either way
    ("2.4", 2.45, CORRECT),
    ("0.3", 0.1 + 0.2, CORRECT),  # floating point is nobody's slip
    ("23560", 23560.000000000004, CORRECT),
    ("-0.15", 0.15, WRONG),
    ("72.2%", 0.72249, CORRECT),
    ("72.2%", 0.7229, ROUNDED),
    ("72.2%", 0.7235, WRONG),
    ("72 %", 0.7249, CORRECT),
    ("0.5", float("nan"), WRONG),
    ("0.5", float("-inf"), WRONG),
    ("31.0e6", 31.04e6, CORRECT),
    ("31.0e6", 31.06e6, ROUNDED),
    ("31.0e6", 31.2e6, WRONG),
    ("1.5x10^-3", 0.00153, CORRECT),
    ("1.5x10^-3", 0.00158, ROUNDED),
    ("1/1000", 0.001, CORRECT),
    ("1/1000", 0.0009, WRONG),  # a fraction has no last digit
    ("1/3", 1 / 3, CORRECT),
    ("~.968", 0.9683, CORRECT),
    ("0.5", 1e30, WRONG),  # with more digits than a Decimal is rounded to
]


@pytest.mark.parametrize(("printed", "computed", "verdict"), CASES)
def test_audit_judges_by_the_printed_digits(printed, computed, verdict):
    assert judged(printed, repr(computed)) == verdict


@pytest.mark.parametrize(("agrees", "verdict"), [("True", CORRECT), ("False", WRONG)])
def test_audit_of_a_sentence_is_decided_by_what_was_measured(agrees, verdict):
    assert judged("starts at 0", "starts at 1", agrees) == verdict


def row(**facts: str) -> dict[str, str]:
    usual = {"document": "S003", "place": "equation 8", "quantity": "x", "printed": "-0.717", "computed": "-0.71648",
             "agrees": "", "reading": "", "remark": ""}  # fmt: skip
    return {**usual, **facts}


def test_audit_shows_two_digits_more_than_are_printed():
    assert audited(row(computed="-0.716484321"), []).shown == "-0.71648"
    assert audited(row(printed="23560", computed="23560.0"), []).shown == "23560"
    assert audited(row(printed="0.05", computed="-1e-20"), []).shown == "0"
    assert audited(row(printed="31.0e6", computed="31234567.0"), []).shown == "31235000"
    assert audited(row(printed="1/1000", computed="0.0009"), []).shown == "0.0009"
    assert audited(row(printed="yes", computed="no", agrees="False"), []).shown == "no"


def test_no_document_is_wrong_about_a_program_of_which_it_says_nothing():
    facts = row(document="S004", quantity="start", printed="0", computed="1")
    assert audited(facts, ["start"]).verdict == OWN
    assert audited({**facts, "computed": "0"}, ["start"]).verdict == CORRECT
    assert audited(facts, ["end"]).verdict == WRONG


def test_sentence_that_is_right_under_one_reading_and_wrong_under_another_depends_on_it():
    wrong, right = audited(row(computed="3.0", reading="W X"), []), audited(row(computed="-0.717", reading="W^T X"), [])
    entry = Entry("normexp reproduce x", (wrong, right))
    assert entry.verdict == DEPENDS
    assert entry.computed == "3 (W X); -0.717 (W^T X)"
    assert entry.remark == "wrong if W X; correct if W^T X"
    assert Entry("normexp reproduce x", (wrong, wrong)).verdict == WRONG


def test_numbers_of_one_section_are_judged_by_the_reading_that_most_of_them_follow(tmp_path):
    """The variance is right by itself under W X, but its section follows from W^T X, so it is wrong."""
    folder = tmp_path / "lecture" / "cpu"
    folder.mkdir(parents=True)
    lines = [HEAD]
    for quantity, by_wx, by_wtx in (("mean", 3.0, 0.08), ("sum", 5.0, 0.08), ("variance", 0.08, 0.03)):
        for reading, value in (("W X", by_wx), ("W^T X", by_wtx)):
            verdict = "correct" if value == 0.08 else "wrong"
            lines.append(f'S003,"section 5, equation 1",{quantity},0.08,{value},{verdict},{reading},')
    (folder / "numbers.csv").write_text("\n".join(lines) + "\n")
    found = {entry.first.quantity: entry.verdict for entry in entries(tmp_path)}
    assert found == {"mean": CORRECT, "sum": CORRECT, "variance": WRONG}
    (sentence,) = slips(entries(tmp_path))
    assert "section 5 are judged by W^T X" in sentence
    assert "by W X, as the text says, 2 of 3 are wrong" in sentence


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "lecture" / "paper"
    folder.mkdir(parents=True)
    lines = [
        HEAD,
        "S003,equation 8,x,-0.717,-0.71648,rounded wrongly,,should be -0.716",
        "S003,equation 5,y,1.09,1.0897,correct,,",
    ]
    (folder / "numbers.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_sources_page_names_the_command_and_folds_away_what_is_right(results):
    text = page(entries(results))
    assert DOCUMENTS["S003"] in text
    assert "`normexp reproduce lecture scale=paper`" in text
    wrong, right = text.split("<details>")
    assert "| equation 8 | x | -0.717 | -0.71648 | rounded wrongly | should be -0.716 |" in wrong
    assert "| equation 5 | y |" not in wrong
    assert "| equation 5 | y | 1.09 | 1.0897 | correct |  |" in right


def claim(**facts: str) -> dict[str, str]:
    return {"text": "x helps", "place": "Ferreira 2024, section 6", "kind": "scaled", "verdict": "holds", **facts}


def test_sources_page_has_the_verdicts_of_the_ledger_on_sentences(results):
    claims = (claim(), claim(text="y helps", kind="own"), claim(text="z helps", place="Zuo 2018"),
              claim(text="u * v", verdict="not judged"))  # fmt: skip
    text = page(entries(results), [Report("lecture", "cpu", "", claims), Report("preview", "smoke", "", claims)])
    assert "tested by experiments: holds 1, not judged 1</summary>" in text
    assert "| `lecture` | x helps | holds at this scale |" in text
    assert r"| `lecture` | u \* v | not judged |" in text
    assert not any(absent in text for absent in ("y helps", "z helps", "`preview`"))


def test_sources_page_counts_apart_what_was_recast_as_an_equivalence(results):
    """Whether it matters little is not whether the sentence is right."""
    place = "Ferreira 2024, section 2; recast as an equivalence after the runs"
    claims = (claim(), claim(text="x does not matter", place=place), claim(text="y does not matter", place=place))
    text = page(entries(results), [Report("lecture", "cpu", "", claims)])
    assert "tested by experiments: holds 1; recast as equivalences" in text
    assert ", whose verdict is not the sentence's: holds 2</summary>" in text
    assert "| `lecture` | x does not matter | holds at this scale |" in text


@pytest.mark.parametrize(
    ("document", "place", "kind", "said"),
    [
        ("S002", 'slide "Analysis"', "exact", True),
        ("S002", "beyond the slides", "exact", False),
        ("S002", "ours; the slides leave it open", "scaled", False),
        ("S004", 'Batch Normalization (notes), "Testing Time"', "exact", True),
        ("S001", 'Batch Normalization (notes), "Testing Time"', "exact", False),
        ("S001", "Normalization (notes page), pros 1", "own", False),
    ],
)
def test_claim_is_from_the_document_that_its_place_names(document, place, kind, said):
    assert is_from(document, claim(place=place, kind=kind)) is said


def test_ledger_has_the_section_of_printed_numbers(results):
    text = "\n".join(summary(entries(results)))
    assert "1 correct, 1 rounded wrongly" in text
    assert "rounded wrongly: equation 8, x: printed -0.717, computed -0.71648. should be -0.716" in text
    assert counted(each.verdict for each in entries(results)) == "1 correct, 1 rounded wrongly"
    assert list(summary([])) == []


STRANGE = {
    "other columns": ("step,rows\n0,1\n", "not the printed numbers of a document; `normexp report` writes it"),
    "another verdict": (f"{HEAD}\nS003,equation 8,x,1,2,refuted,,\n", "verdict 'refuted' does not exist; allowed"),
    "another document": (f"{HEAD}\nS009,equation 8,x,1,2,wrong,,\n", "document 'S009' does not exist; allowed: S000"),
}


@pytest.mark.parametrize(("content", "said"), STRANGE.values(), ids=STRANGE)
def test_file_of_other_numbers_is_one_line(results, content, said):
    (results / "lecture" / "paper" / "numbers.csv").write_text(content)
    with one_line_error() as error:
        entries(results)
    assert f"numbers.csv: damaged ({said}" in str(error.value)


def test_sources_list_the_25_results_that_the_slides_quote():
    """Nine of batch normalization's table, six of NormProp's, ten of weight normalization's."""
    counts = Counter(name for name, _ in quoted_results("S002"))
    assert counts == {"ioffe2015_table": 9, "arpit2016_table": 6, "salimans2016_table1": 10}


def test_what_seeds_computed_is_one_sentence_from_the_least_to_the_largest():
    seeds = ["samples 0.22 apart are 8e-16 apart after 2 steps", "samples 0.06 apart are 2e-15 apart after 2 steps"]
    assert ranged(seeds) == "samples 0.06 to 0.22 apart are 8e-16 to 2e-15 apart after 2 steps"
    assert ranged([*seeds, "nothing is apart after 2 steps"]) == ""
