"""`normexp laws`: one page from judged claims, and its JSON."""

import json
from pathlib import Path
from typing import Any

import laws_document
import pytest
from laws_document import document

from normexp.errors import UserError
from normexp.experiments.load import laws, read
from normexp.report.commands import reproduce
from normexp.report.commands.ledger import laws_page
from normexp.report.ledger.judged import flags_of
from normexp.report.ledger.law_words import law_words
from normexp.report.ledger.laws import page, read_laws

RESULTS = Path(__file__).parents[3] / "results"
NAME = "law_decay_rate"
HEAD = {"experiment": NAME, "scale": "paper", "command": f"normexp reproduce {NAME} scale=paper", "changed": []}


def claim(compare: str, verdict: str, **facts: Any) -> dict[str, Any]:
    furthest = {"where": "at layer 8", "measured": 0.5, "predicted": 0.4, "low": 0.06, "high": 0.14, "remainder": 0.05}
    about = {"source": "a paper", "place": "section 1", "remarks": [], "changed": [], "n": 4, "estimate": 0.5,
             "interval": None, "p": None}  # fmt: skip
    return {"text": f"{compare} {verdict}", "compare": compare, "verdict": verdict, "evidence": "why", "kind": "exact",
            "law": furthest, **about, **facts}  # fmt: skip


def written(folder: Path, *claims: dict[str, Any]) -> Path:
    """Return a results folder with these judged claims and a run of 12 seconds."""
    place = folder / NAME / "paper"
    run = place / "runs" / "Every-layer-normalized" / "seed=0"
    run.mkdir(parents=True)
    (run / "status.json").write_text(json.dumps({"status": "done", "step": 1, "steps": 1, "seconds": 12.0}))
    (place / "claims.json").write_text(json.dumps({**HEAD, "claims": list(claims)}))
    return folder


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        ([claim("follows", "holds"), claim("leaves", "holds")], "holds"),
        ([claim("follows", "holds"), claim("leaves", "contradicted")], "in part"),
        ([claim("follows", "contradicted"), claim("leaves", "holds")], "in part"),
        ([claim("follows", "contradicted")], "does not follow"),
        ([claim("follows", "holds"), claim("follows", "contradicted", kind="own")], "holds"),
        ([claim("follows", "undecided")], "undecided"),
    ],
)
def test_a_law_holds_with_all_its_controls_or_in_part(tmp_path, claims, verdict):
    (law,) = read_laws(written(tmp_path, *claims), [NAME])
    assert law.verdict == verdict
    assert law.seconds == 12


def test_page_has_law_formula_predicted_measured_verdict_and_seconds(tmp_path):
    text = laws_page([NAME, f"results_dir={written(tmp_path, claim('follows', 'holds'), claim('leaves', 'holds'))}"])
    for part in ("Weight decay", "a^2 - (1 + g", "12 s",
                 "measured 0.500 at layer 8, formula 0.400: 0.100 [0.060, 0.140] apart, 0.05 allowed",
                 "- follows: follows holds", "- control leaves the law: leaves holds",
                 "normexp reproduce law_decay_rate scale=paper"):  # fmt: skip
        assert part in text
    assert "1 of 1 laws measured at full scale in 0 minutes" in text


LAWS = {  # what a law measured -> measured, formula, difference with its interval, allowed
    "to a remainder": ((1.0867, 1, 0.0018, 0.1717, 0.0625), ("1.087", "1.000", "0.087 [0.002, 0.172]", "0.062")),
    "without a remainder": (
        (1.4642, 1.4727, -0.0102, -0.0068, 0),
        ("1.4642", "1.4727", "-0.0085 [-0.0102, -0.0068]", ""),
    ),
    "a bound": ((0.8724, 0, 0.6531, 1.0918, 4.6052), ("0.87 [0.65, 1.09]", "a bound", "-", "≤ 4.605")),
    "an identity": ((0.59172, 0.59172, 1e-14, 1e-14, 3e-11, True), ("0.5917", "0.5917", "1e-14", "3e-11")),
    "of one run": ((5027.734, 5030.262, -2.528, -2.528, 4e-7, True), ("5027.73", "5030.26", "-2.53", "4e-07")),
    "of hundreds": ((623.3, 512.4, 110.9, 110.9, 8e-9, True), ("623", "512", "111", "8e-09")),
    "of shares": (
        (0.287, 0, 0.287, 0.287, 1e-9, True, "%"),
        ("28.7 %", "0 %", "28.7 points", "1e-07 points"),
    ),
    "exploding": ((2.93e301, 0.118, "inf", "inf", 1e-10, True), ("2.93e+301", "0.118", "∞", "1e-10")),
}


@pytest.mark.parametrize(("law", "words"), LAWS.values(), ids=LAWS)
def test_a_law_stands_with_its_difference_and_what_is_allowed(law, words):
    names = ("measured", "predicted", "low", "high", "remainder", "identity")
    said = law_words(dict(zip(names, law, strict=False)), *law[6:])
    assert (said.measured, said.formula, said.difference, said.allowed) == words


def test_a_mean_beyond_what_the_law_allows_is_said_where_the_interval_saves_it():
    beyond, within = (
        {"measured": 1, "predicted": 0, "low": low, "high": 0.2, "remainder": 0.06} for low in (0.01, -0.1)
    )
    flags = [list(flags_of(claim("follows", "holds", law=law))) for law in (beyond, within)]
    assert "by more than the law allows" in flags[0][0]
    assert flags[1] == []


def test_json_has_the_same(tmp_path):
    (law,) = json.loads(laws_page([NAME, f"results_dir={written(tmp_path, claim('follows', 'holds'))}"], plain=True))
    assert law["verdict"] == "holds"
    assert law["checks"][0]["measured"] == 0.5


def test_law_without_records_is_not_measured(tmp_path):
    assert {law.verdict for law in read_laws(tmp_path)} == {"not measured"}
    assert "Not measured yet" in document(tmp_path)


def test_damaged_claims_are_refused(tmp_path):
    folder = written(tmp_path)
    (folder / NAME / "paper" / "claims.json").write_text('{"claims": 3}')
    with pytest.raises(UserError, match="damaged"):
        read_laws(folder, [NAME])


def test_committed_laws_have_controls_that_left_or_a_finding_why_not_and_no_verdict_is_missing():
    found = [law for law in read_laws(RESULTS) if law.checks]
    assert len(found) >= 12
    for law in found:
        assert law.seconds
        controls = [check for check in law.checks if check.compare == "leaves"]
        assert controls
        stayed = [check for check in controls if check.verdict != "control leaves the law"]
        assert len(stayed) < len(controls)
        assert not stayed or any("control" in finding for finding in read(law.experiment, "paper").findings)
    assert "\n".join(page(found))


def test_page_of_the_documentation_is_that_of_the_records_and_says_what_every_tolerance_is_derived_from():
    written = document(RESULTS)
    assert (RESULTS.parent / "docs" / "laws.md").read_text() == written
    tolerances = {name: " ".join(read(name, "paper").law.tolerance.split()) for name in laws()}
    assert [name for name, each in tolerances.items() if not each or f"*Tolerance.* {each}" not in written] == []


def test_reproduce_laws_runs_every_law_at_full_scale(cli, results, workers_here, monkeypatch):
    assert len(laws()) >= 13
    monkeypatch.setattr(reproduce, "laws", lambda: ["law_decay_rate"])
    status, out, error = cli("reproduce", "--laws", "--dry-run", f"results_dir={results}")
    assert status == 0
    assert "law_decay_rate, scale paper" in out + error
    assert "18 new" in out + error


FRESH = {  # as the page names them: judged by other seeds than those of their first runs, which began at 0
    "less of a layer's gradient": "law_gradient_projection",
    "least squares": "law_least_squares",
    "the distance of the weights": "law_weight_distance",
    "the largest stable rate": "law_largest_rate",
    "the residual stream": "law_residual_variance",
    "the noise of an update": "law_update_noise",
}
ALWAYS_OTHERS = {"law_norm_placement"}  # from 100, since it was declared


def test_the_page_names_the_laws_that_have_fresh_seeds():
    """Written by hand, beside the records: what it says of their seeds is held to the experiments."""
    paragraph = " ".join(laws_document.HEAD.split("All of them were measured again")[1].split())
    assert all(words in paragraph for words in FRESH)
    begins = {name: min(read(name, "paper").grid["seed"]) for name in laws() if name.startswith("law_")}
    assert {name for name, first in begins.items() if first > 0} == {*FRESH.values()} | ALWAYS_OTHERS
