"""The ledger: kinds counted apart, one line a claim, multiplicity over all experiments, what was changed."""

import errno
import json
import logging
import os
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from normexp.errors import UserError
from normexp.records.files import unwritable
from normexp.report.commands.ledger import LEDGER, ledger
from normexp.report.ledger.claims import as_json, as_markdown
from normexp.report.ledger.judged import read_reports
from normexp.report.tables.formats import _harmless, unguarded

OPEN = "0.50, 95%: at least 0.25"


def claim(kind: str, verdict: str, p: float | None = None, **facts: Any) -> dict[str, Any]:
    usual = {
        "text": f"A {kind} claim", "source": "Someone 2015, page 1", "place": "page 1", "kind": kind,
        "compare": "value", "verdict": verdict, "evidence": "what was compared", "remarks": [], "estimate": 0.5,
        "interval": [0.25, "inf"], "n": 5, "p": p, "p_holm": p, "changed": [],
    }  # fmt: skip
    return usual | facts


def write(
    results: Path, name: str, scale: str, claims: list[dict[str, Any]], changed: tuple[str, ...] = (), **more: str
) -> None:
    folder = results / name / scale
    folder.mkdir(parents=True)
    head = {"experiment": name, "scale": scale, "command": f"normexp reproduce {name} scale={scale}", **more}
    (folder / "claims.json").write_text(json.dumps({**head, "changed": list(changed), "claims": claims}))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write(
        tmp_path,
        "first",
        "cpu",
        [claim("exact", "holds"), claim("scaled", "holds", 0.01), claim("own", "undecided", 0.3)],
    )
    write(tmp_path, "second", "paper", [claim("full scale", "contradicted", 0.004), claim("exact", "contradicted")])
    write(tmp_path, "third", "smoke", [claim("scaled", "preview", 1e-9)])
    return tmp_path


def lines(results: Path) -> list[str]:
    return list(as_markdown(read_reports(results)))


def test_names_and_claims_are_only_words_to_markdown(tmp_path: Path) -> None:
    hostile = "<script>x</script> *a* _b_ [c](d) &lt; \\"
    inert = r"\<script>x\</script> \*a\* \_b\_ [c\](d) \&lt; \\"
    judged = claim("own", "holds") | dict.fromkeys(("text", "place", "source", "evidence"), hostile)
    judged |= {"remarks": [f"ceiling: {hostile}"], "changed": [hostile]}
    write(tmp_path, "<i>[x](y)", "cpu", [judged], (hostile,), underpowered=hostile)
    text = "\n".join(lines(tmp_path))
    assert text.count(inert) == 10
    assert hostile not in text
    assert r"**[\<i>[x\](y)](%3Ci%3E%5Bx%5D%28y%29/cpu/table.md)**" in text
    assert "<summary>&lt;i&gt;[x](y), scale cpu: <code>normexp reproduce &lt;i&gt;[x](y) scale=cpu</code>" in text
    assert r"| \<i\>[x\](y) * | cpu |" in text


def test_words_of_a_claim_stay_as_they_are(tmp_path: Path) -> None:
    said = "weight_mean_only > 0.1, < -37.9, 1/||v|| [95 %] (t) `code *of* a claim` & so on"
    write(tmp_path, "first", "cpu", [claim("own", "holds") | {"text": said}])
    assert "\n".join(lines(tmp_path)).count(said) == 2


def test_kinds_are_counted_apart(results: Path) -> None:
    text = lines(results)
    assert "| experiment | scale | exact | full scale | scaled | own | all |" in text
    assert "| first | cpu | 1 / 0 / 0 |  | 1 / 0 / 0 | 0 / 0 / 1 | 2 / 0 / 1 |" in text
    assert "| second | paper | 0 / 1 / 0 | 0 / 1 / 0 |  |  | 0 / 2 / 0 |" in text
    assert "| third | smoke |  |  | 1 preview |  | 1 preview |" in text
    every = "| **all** |  | 1 / 1 / 0 | 0 / 1 / 0 | 1 / 0 / 0 (1 preview) | 0 / 0 / 1 | 2 / 2 / 1 (1 preview) |"
    assert every in text


def test_laws_at_full_scale_are_counted_apart_from_published_set_ups(results: Path) -> None:
    assert not any("laws of theory" in line for line in lines(results)[9:])
    law = claim("full scale", "holds") | {"compare": "follows"}
    write(results, "law", "paper", [law, claim("full scale", "undecided"), claim("own", "holds")])
    (first, second) = (line for line in lines(results) if line.endswith(("laws of theory.", "0 / 1 / 0.")))
    assert first == "Of the full-scale claims 1 / 0 / 1 stand in experiments on laws of theory."
    assert second == "At set-ups that were published stand the other 0 / 1 / 0."


def test_of_laws_alone_no_other_full_scale_claims_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "law", "paper", [claim("full scale", "holds") | {"compare": "follows"}])
    text = "\n".join(lines(tmp_path))
    assert "Of the full-scale claims 1 / 0 / 0 stand in experiments on laws of theory." in text
    assert "the other" not in text


def test_a_search_knows_experiments_on_laws_by_the_whole_ledger(tmp_path: Path) -> None:
    """Of those that it finds none need be the one that follows the law; they counted as published set-ups."""
    law, other = claim("full scale", "holds") | {"compare": "follows"}, claim("full scale", "contradicted")
    write(tmp_path, "law", "paper", [law, other])
    write(tmp_path, "second", "paper", [other, other])
    text = ledger(["verdict=contradicted", f"results_dir={tmp_path}"])
    assert "Of the full-scale claims 0 / 1 / 0 stand in experiments on laws of theory." in text
    assert "At set-ups that were published stand the other 0 / 2 / 0." in text


def test_a_scaled_verdict_says_so_and_a_claim_is_one_line(results: Path) -> None:
    text = lines(results)
    assert f"- **holds at this scale**: A scaled claim. {OPEN}, n=5 [page 1]" in text
    assert "**[first](first/cpu/table.md)**, scale cpu" in text
    assert f"- **contradicted**: A full scale claim. {OPEN}, n=5 [page 1]" in text
    assert f"- **undecided**: A own claim. {OPEN}, n=5 [page 1]" in text


def test_what_only_the_correction_leaves_undecided_shows_the_adjusted_interval(tmp_path: Path) -> None:
    intervals = {"interval": [0.25, 0.75], "holm_interval": [-0.1, 1.1]}
    judged = [claim("own", verdict, p, **intervals) for verdict, p in (("undecided", 0.02), ("undecided", 0.2))]
    write(tmp_path, "first", "cpu", [*judged, claim("own", "holds", 0.001, **intervals)])
    found = [line for line in lines(tmp_path) if line.startswith("- **") and "own" in line]
    assert found == [
        "- **undecided**: A own claim. 0.50 [0.25, 0.75], adjusted [-0.10, 1.10], n=5 [page 1]",
        "- **undecided**: A own claim. 0.50 [0.25, 0.75], n=5 [page 1]",
        "- **holds**: A own claim. 0.50 [0.25, 0.75], n=5 [page 1]",
    ]


def test_false_discovery_rate_is_over_all_experiments_but_previews(results: Path) -> None:
    found = {claim["text"]: claim.get("q") for report in read_reports(results) for claim in report.claims}
    # .004 .01 .3 times 3/1 3/2 3/3; the preview's 1e-9 would have made it 4/2 4/3 4/4.
    assert found["A full scale claim"] == pytest.approx(0.012)
    assert found["A own claim"] == pytest.approx(0.3)
    sentence = next(line for line in lines(results) if "claims were tested" in line)
    assert "3 claims were tested, 2 of them are decided" in sentence
    assert "2 claims have a q as small as the largest of these: of all 2 together" in sentence
    assert "is at most 1.5 %" in sentence
    assert "would leave 2 of them" in sentence


def test_false_discovery_rate_is_one_of_all_claims_with_a_q_as_small_and_rounded_up(results: Path) -> None:
    undecided = claim("own", "undecided", p=0.0104)
    write(results, "second", "cpu", [undecided])
    sentence = next(line for line in lines(results) if "claims were tested" in line)
    assert "4 claims were tested, 2 of them are decided" in sentence
    # .004 .01 .0104 .3 times 4/1 4/2 4/3: .01387 of three, one of which is not decided.
    assert "3 claims have a q as small as the largest of these" in sentence
    assert "is at most 1.4 %" in sentence


def test_where_nothing_is_decided_there_is_no_false_discovery_rate(tmp_path: Path) -> None:
    write(tmp_path, "only", "cpu", [claim("own", "undecided", p=0.5)])
    sentence = next(line for line in lines(tmp_path) if line.startswith("1 claim was tested, 0 of them are"))
    assert sentence.endswith("would leave 0 of them.")


def test_changes_after_the_runs_and_remarks_are_on_the_line_with_both_versions_below(tmp_path: Path) -> None:
    change = "claim 'x' was changed after the first run: target: 0.9 before, target: 0.95 now"
    remarks = ["target: ours", "ceiling: in 3 of 5 seeds the target is above 1 - 2/1000"]
    write(
        tmp_path,
        "one",
        "cpu",
        [claim("scaled", "holds", 0.01, changed=[change], remarks=remarks)],
        ("margin was changed",),
    )
    text = lines(tmp_path)
    (line,) = (line for line in text if line.startswith("- **holds at this scale**"))
    assert line.endswith("*Changed after the first run*. *Ceiling: in 3 of 5 seeds the target is above 1 - 2/1000*.")
    assert f"  - {change}" in text
    assert "- *margin was changed*" in text
    assert "  - target: ours" in text


def test_speed_up_over_targets_is_among_the_details(tmp_path: Path) -> None:
    targets = [
        {"target": 0.9, "speed_up": 2.0, "low": 1.0, "high": "inf"},
        {"target": 0.95, "speed_up": "nan", "low": 0.5, "high": "inf"},
    ]
    area = {"difference": 0.01, "low": -0.02, "high": 0.04, "p": 0.2}
    write(tmp_path, "one", "cpu", [claim("scaled", "holds", 0.01, targets=targets, area=area)])
    text = "\n".join(lines(tmp_path))
    assert (
        "speed-up by target (unadjusted 95 % intervals): 0.9: 2.00 times, at least 1.00; 0.95: "
        "at least 0.500 times (no estimate: some runs never arrive)"
    ) in text
    assert "difference of the means over training: 0.010 [-0.020, 0.040], p=0.2" in text


def test_json_has_the_same_counts(results: Path) -> None:
    plain = json.loads(json.dumps(as_json(read_reports(results)), allow_nan=False))
    assert plain["totals"] == {
        "exact": {"holds": 1, "contradicted": 1},
        "full scale": {"contradicted": 1},
        "scaled": {"holds": 1, "preview": 1},
        "own": {"undecided": 1},
    }
    assert [each["experiment"] for each in plain["experiments"]] == ["first", "second", "third"]


def test_report_of_an_older_program_is_named_with_what_renews_it(tmp_path: Path) -> None:
    write(tmp_path, "one", "cpu", [{"text": "old", "verdict": "holds"}])
    with pytest.raises(UserError, match="was written by an older normexp; `normexp report one` renews it"):
        read_reports(tmp_path)


@pytest.mark.parametrize("text", ["-1.00, -1.00", "=1+1", "'quoted'", "plain", "-3.5"])
def test_a_cell_that_is_kept_from_spreadsheets_reads_back_as_it_was(text: str) -> None:
    assert unguarded(_harmless(text)) == text


def test_too_few_seeds_are_said(tmp_path: Path) -> None:
    write(tmp_path, "first", "cpu", [claim("scaled", "undecided", 0.3)], underpowered="a pilot")
    write(tmp_path, "second", "cpu", [claim("scaled", "undecided", 0.3)])
    text = lines(tmp_path)
    assert "- *underpowered: a pilot*" in text
    assert "| first * | cpu |  |  | 0 / 0 / 1 |  | 0 / 0 / 1 |" in text
    assert "| second | cpu |  |  | 0 / 0 / 1 |  | 0 / 0 / 1 |" in text


def test_a_printed_number_that_is_not_judged_is_counted_apart(tmp_path: Path) -> None:
    write(tmp_path, "first", "cpu", [claim("scaled", "not judged"), claim("scaled", "holds", 0.01)])
    assert "| first | cpu |  |  | 1 / 0 / 0 (1 not judged) |  | 1 / 0 / 0 (1 not judged) |" in lines(tmp_path)


def test_a_ledger_that_cannot_be_kept_is_shown(results: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def refuse(path: Path, content: str) -> None:
        raise unwritable(path, OSError(errno.EROFS, os.strerror(errno.EROFS)))

    monkeypatch.setattr("normexp.report.commands.ledger.write_atomically", refuse)
    with caplog.at_level(logging.WARNING, logger="normexp"):
        text = ledger([f"results_dir={results}"])
    assert text.startswith("# Claims")
    assert caplog.messages == [f"{results / LEDGER}: cannot be written (Read-only file system)"]


def test_previews_are_no_part_of_the_ledger_of_records(results: Path, caplog: Any) -> None:
    (results / "first" / "smoke").mkdir()
    numbers = "document,place,quantity,printed,computed,verdict,reading,remark\nS003,equation 8,x,1,2,wrong,,\n"
    (results / "first" / "smoke" / "numbers.csv").write_text(numbers)
    with caplog.at_level(logging.INFO, logger="normexp"):
        text = ledger([f"results_dir={results}"])
    assert (results / LEDGER).read_text() == text
    assert not any(absent in text for absent in ("third", "preview", "equation 8"))
    assert caplog.messages == ["left out: 1 experiment at scale smoke, a preview; scale=smoke shows them"]
    rmtree(results / "third")
    rmtree(results / "first" / "smoke")
    assert ledger([f"results_dir={results}"]) == text


@pytest.mark.parametrize("words", [["scale=smoke"], ["verdict=preview"], ["covariate_shift"]])
def test_previews_that_are_asked_for_are_shown(results: Path, caplog: Any, words: list[str]) -> None:
    write(results, "covariate_shift", "smoke", [claim("own", "preview")])
    write(results, "covariate_shift", "cpu", [claim("own", "holds")])
    with caplog.at_level(logging.INFO, logger="normexp"):
        assert "| covariate_shift | smoke | " in ledger([*words, f"results_dir={results}"])
    assert caplog.messages == []
    assert not (results / LEDGER).exists()


def test_where_claims_are_at_another_scale_it_is_named(results: Path) -> None:
    write(results, "covariate_shift", "cpu", [claim("own", "holds")])
    write(results, "covariate_shift", "smoke", [claim("own", "preview")])
    with pytest.raises(UserError, match=r"holds no judged claims at that scale; there is something at smoke, cpu$"):
        ledger(["covariate_shift", "scale=desk", f"results_dir={results}"])
    with pytest.raises(UserError, match=r"holds no judged claims; start with `normexp reproduce NAME`$"):
        ledger(["mnist1d", "scale=desk", f"results_dir={results}"])


def test_a_part_of_the_ledger_is_corrected_over_the_whole(results: Path) -> None:
    write(results, "covariate_shift", "cpu", [claim("own", "holds", 0.02)])
    part = ledger(["covariate_shift", f"results_dir={results}"])
    # p = 0.01, 0.3, 0.004 and 0.02: Holm's second smallest of four is 0.03, the third 0.04; a q of 4 / 3 * 0.02
    assert "1 claim was tested (of 4 in the whole ledger), 1 of them is decided" in part
    assert "Holm's correction over the whole ledger would leave 1 of them. 3 claims have a q as small as" in part
    assert "of all 3 together the false discovery rate is at most 2.7 %" in part
    write(results, "mnist1d", "paper", [claim("own", "undecided", p) for p in (0.3, 0.4, 0.5)])
    assert "over the whole ledger would leave 0 of them" in ledger(["covariate_shift", f"results_dir={results}"])


def test_a_claim_of_another_experiment_that_reads_the_same_is_another_claim(tmp_path: Path) -> None:
    for name in ("covariate_shift", "mnist1d"):
        write(tmp_path, name, "cpu", [claim("own", "holds", 0.01)])
    part = ledger(["covariate_shift", f"results_dir={tmp_path}"])
    assert "1 claim was tested (of 2 in the whole ledger), 1 of them is decided" in part
    assert "Holm's correction over the whole ledger would leave 1 of them." in part


def test_claims_are_found_by_verdict_and_by_words(results: Path) -> None:
    there = f"results_dir={results}"
    found = json.loads(ledger(["verdict=contradicted", there], plain=True))
    assert [each["text"] for report in found["experiments"] for each in report["claims"]] == [
        "A full scale claim",
        "A exact claim",
    ]
    assert found["totals"]["exact"] == {"contradicted": 1}
    found = json.loads(ledger(["find=SOMEONE exact", there], plain=True))
    assert [(each["experiment"], len(each["claims"])) for each in found["experiments"]] == [("first", 1), ("second", 1)]
    found = json.loads(ledger(["verdict=holds", "find=first exact", there], plain=True))
    assert [(each["experiment"], len(each["claims"])) for each in found["experiments"]] == [("first", 1)]
    assert not (results / LEDGER).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["verdict=hold"],
            "verdict 'hold' does not exist; allowed: holds, contradicted, undecided, not judged, not judged yet, "
            "preview; did you mean holds?",
        ),
        (["verdict=not judged yet"], "verdict=not judged yet: no claim is like that"),
        (["find=no such words"], "find=no such words: no claim is like that"),
        (["verdict=holds", "find=full scale"], "verdict=holds find=full scale: no claim is like that"),
        (["find=ful scael"], "find=ful scael: no claim is like that; did you mean 'find=ful scale'?"),
        (["find=Somone exact"], "find=Somone exact: no claim is like that; did you mean 'find=someone exact'?"),
        (["find=zebra exact"], "find=zebra exact: no claim is like that"),
        (
            ["find=Zebras: On Their Fast Recognition"],
            "find=Zebras: On Their Fast Recognition: no claim is like that; "
            "fewer words find more, as an author's name or an arXiv number",
        ),
    ],
)
def test_what_finds_no_claim_is_one_line(results: Path, words: list[str], said: str) -> None:
    with pytest.raises(UserError) as error:
        ledger([*words, f"results_dir={results}"])
    assert str(error.value) == said
