"""`normexp laws`: one page from judged claims, and its JSON."""

import json
from pathlib import Path
from typing import Any

import laws_document
import pytest
from in_process import InProcess
from laws_document import document

from normexp.errors import UserError
from normexp.experiments.load import laws, read
from normexp.report.commands import reproduce
from normexp.report.commands.ledger import laws_page
from normexp.report.ledger.laws import page, read_laws

RESULTS = Path(__file__).parents[3] / "results"
NAME = "law_decay_rate"
HEAD = {"experiment": NAME, "scale": "paper", "command": f"normexp reproduce {NAME} scale=paper", "changed": []}


def claim(compare: str, verdict: str, **facts: Any) -> dict[str, Any]:
    furthest = {"where": "at step 8", "measured": 0.5, "predicted": 0.4}
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
        ([claim("follows", "contradicted")], "DOES NOT FOLLOW"),
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
    for part in ("Weight decay", "a^2 - (1 + g", "measured 0.5, formula 0.4, furthest at step 8", "12 s",
                 "- follows: follows holds", "- control leaves the law: leaves holds",
                 "normexp reproduce law_decay_rate scale=paper"):  # fmt: skip
        assert part in text
    assert "1 of 1 laws measured at full scale in 0 minutes" in text


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


def test_reproduce_laws_runs_every_law_at_full_scale(cli, results, monkeypatch):
    assert len(laws()) >= 13
    monkeypatch.setattr(reproduce, "laws", lambda: ["law_decay_rate"])
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
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
