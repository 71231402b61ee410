"""What `--json` prints is what docs/programs.md says, key by key."""

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from normexp.cli.verbs import main

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs" / "programs.md").read_text(encoding="utf-8")
SECTION = re.compile(r"<!-- json:(\w+) -->(.*?)<!-- /json -->", re.DOTALL)
ROW = re.compile(r"^\| `([^`]+)` \| ([a-z, ]+) \|", re.MULTILINE)
TYPES = {str: "text", int: "whole", float: "number", bool: "truth", type(None): "null"}
SCHEMAS = {verb: dict(ROW.findall(text)) for verb, text in SECTION.findall(PAGE)}


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, type) of everything in a document that holds nothing."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, f"{place}[]")
    else:
        yield place, TYPES[type(value)]


@cache
def row_of(place: str, verb: str) -> str | None:
    """Return the row of a verb's page for a path; a word in capitals stands for any name."""
    exact, loose = [], []
    for row in SCHEMAS[verb]:
        pattern = re.sub(r"[A-Z]+", r"[^.\\[]+", re.escape(row))
        if re.fullmatch(pattern, place):
            (loose if re.search("[A-Z]", row) else exact).append(row)
    return next(iter([*exact, *loose]), None)


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def check(verb: str, document: Any) -> set[str]:
    """Compare a document with the page; return the rows of the page that it has."""
    schema, seen = SCHEMAS[verb], set()
    for place, kind in leaves(document):
        row = row_of(place, verb)
        assert row is not None, f"{place} is not on the page"
        assert kind in schema[row].split(", "), f"{place} is {kind}, on the page {schema[row]}"
        seen.add(row)
    return seen


def document_of(cli, verb: str, *words: object, whole: bool = True) -> Any:
    """Return what a verb prints with --json; it is as documented, with (where it is whole) every row of the page."""
    status, stdout, stderr = cli(verb, *words, "--json")
    assert (status, stderr) == (0, "")
    document = strict(stdout)
    seen = check(verb, document)
    assert not whole or seen == set(SCHEMAS[verb])
    return document


def test_json_of_list_is_as_documented(cli):
    for words in ([], ["experiments"], ["norms"]):
        document = document_of(cli, "list", *words, whole=words == ["experiments"])
    assert {"name": "batch", "about": "Mean and variance of each channel over the batch"}.items() <= next(
        each for each in document["norms"] if each["name"] == "batch"
    ).items()


def test_json_of_status_is_as_documented(cli, tmp_path):
    for name, state in (("a", "done"), ("b", "failed")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "status.json").write_text(json.dumps({"status": state, "step": 3, "steps": 9}))
    (tmp_path / "c").symlink_to(tmp_path / "a")
    document = document_of(cli, "status", tmp_path)
    assert document["counts"] == {"done": 1, "failed": 1}
    assert document["unfinished"] == [{"path": f"{tmp_path}/b", "state": "failed", "detail": "step 3/9"}]


def test_json_of_table_is_as_documented_and_has_full_precision(cli):
    document = document_of(cli, "table", TOP / "results" / "digits_five_schemes" / "cpu")
    batch = next(row for row in document["rows"] if row["arm"] == "batch")
    assert batch["seeds"] == batch["finite"] == 5
    assert batch["test_accuracy_mean"] * 5 * 360 == pytest.approx(round(batch["test_accuracy_mean"] * 5 * 360))


def test_json_of_best_is_as_documented_and_has_the_printed_remarks(cli):
    place = TOP / "results" / "qk_norm_rates" / "cpu"
    document = document_of(cli, "best", place)
    printed = cli("best", place)[1]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines() if line[:2] == "| "]
    chosen = lines[2 : 2 + len(document["rows"])]
    assert [(row["optim.lr"], row["remark"] or "-") for row in document["rows"]] == [
        (line[lines[0].index("optim.lr")], line[-1]) for line in chosen
    ]


def test_json_of_claims_is_as_documented(cli):
    document_of(cli, "claims", f"results_dir={TOP / 'results'}", "ioffe2015_table", whole=False)


def test_json_of_all_claims_and_laws_is_as_documented():
    from normexp.records import plain_json
    from normexp.report.ledger.claims import as_json
    from normexp.report.ledger.judged import read_reports
    from normexp.report.ledger.laws import as_json as laws_as_json
    from normexp.report.ledger.laws import read_laws

    claims = strict(plain_json(as_json(read_reports(TOP / "results"))))
    assert check("claims", claims) == set(SCHEMAS["claims"])
    assert check("laws", strict(plain_json(laws_as_json(read_laws(TOP / "results", []))))) == set(SCHEMAS["laws"])


NAMES = ["é 中", "a\u202eb\x9bc", os.fsdecode(b"\xff"), "\U0001f600"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("name", NAMES)
def test_names_come_back_from_json_whatever_is_in_them(tmp_path, monkeypatch, name, encoding):
    """Letters stand as they are, where the terminal has them; what would turn its text round is an escape."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "status.json").write_text('{"status": "failed"}')
    printed = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", printed)
    assert main(["status", str(tmp_path), "--json"]) == 0
    printed.flush()
    text = printed.buffer.getvalue().decode(encoding)
    assert strict(text)["unfinished"][0]["path"] == str(tmp_path / name)
    assert not {"\u202e", "\x9b"} & set(text)
    assert "中" not in name or ("中" in text) is (encoding == "utf-8")


def test_json_of_what_is_not_finite_is_text():
    from normexp.records import plain_json

    assert strict(plain_json({"a": [float("inf"), -float("inf")], "b": (float("nan"),), "c": None, "d": 0.1})) == {
        "a": ["inf", "-inf"],
        "b": ["nan"],
        "c": None,
        "d": 0.1,
    }


def test_the_skill_names_commands_that_there_are():
    """Its front matter is what agents look for; each command's verb and flags exist."""
    import yaml

    from normexp.cli.command_line import flags, parsers

    text = (TOP / "normexp" / "SKILL.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---")[1])
    assert head["name"] == "normexp"
    assert len(head["description"]) <= 1024  # what agents' programs allow
    _, commands = parsers()
    lines = [line.split("#")[0].split() for line in text.splitlines() if line.startswith("normexp ")]
    assert len(lines) >= 8
    for _, verb, *words in lines:
        given = {word for word in words if word.startswith("--")}
        assert given <= set(flags(commands[verb]))
