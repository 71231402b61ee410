"""Seeds in batches: what may be declared, that it is frozen, and that `reproduce` stops once its claims are decided."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from killed import KILLED, command, run_until
from made_up import MADE_UP, assert_unsound
from parsed import parse

from normexp.experiments.freeze import changes_since_frozen, freeze
from normexp.records import find_runs

DECIDED = {
    "text": "the loss is below 100", "source": "s", "compare": "value", "metric": "train/loss", "of": "none",
    "in": "< 100",
}  # fmt: skip
OPEN = {**DECIDED, "text": "the loss is 0", "in": "within 1.0e-9 of 2.3"}  # nobody can show that
DATA: dict[str, Any] = {
    **{key: value for key, value in MADE_UP.items() if key != "select"},
    "common": {"dataset": "digits", "model": "mlp", "model.widths": [4], "steps": 2, "eval_every": 1},
    "arms": {"none": {"norm": "none"}},
    "grid": {"seed": [3, 1, 4, 15, 9, 2]},
    "table": {"columns": ["train/loss"]},
    "claims": [DECIDED],
    "scales": {"cpu": {"sequential": {"looks": [2, 4, 6]}}, "desk": None},
}


def with_looks(*claims: dict[str, Any], **keys: Any) -> dict[str, Any]:
    data = copy.deepcopy(DATA)
    data["scales"]["cpu"]["sequential"] |= keys
    return data | ({"claims": list(claims)} if claims else {})


def test_each_look_adds_its_seeds_in_the_order_of_the_grid() -> None:
    experiment = parse("x", "cpu", DATA)
    assert [stage.grid["seed"] for stage in experiment.stages()] == [[3, 1], [4, 15], [9, 2]]
    assert experiment.grid["seed"] == [3, 1, 4, 15, 9, 2]
    (whole,) = parse("x", "desk", DATA).stages()
    assert whole.design is None


LAW = {"text": "t", "source": "s", "compare": "follows", "metric": "train/loss", "of": "none", "formula": "lr"}
COUNTED = {"text": "t", "source": "s", "compare": "count", "of": "none", "event": "diverges"}
MISTAKES = {
    "one look": (with_looks(looks=[6]), "looks: [6]; give 2 or more"),
    "six looks": (with_looks(looks=[2, 3, 4, 5, 6, 7]), "looks: [2, 3, 4, 5, 6, 7]: give at most 5"),
    "backwards": (with_looks(looks=[4, 2]), "each look has more seeds than the one before"),
    "one seed": (with_looks(looks=[1, 6]), "sequential.looks[0]"),
    "seeds": (with_looks(looks=[2, 5]), "the last look has 5 seeds, the grid has 6"),
    "spending": (with_looks(spending="pokock"), "pocock"),
    "law": (with_looks(DECIDED, LAW), "claims follows and leaves take no looks"),
    "nothing to decide": (with_looks(COUNTED), "there is no claim that seeds could decide"),
    "too few": (
        with_looks({**DECIDED, "compare": "steps", "of": "a", "than": "b", "target": 1.0, "in": "> 1"}, looks=[2, 3])
        | {"grid": {"seed": [0, 1, 2]}, "arms": {"a": {"norm": "none"}, "b": {"norm": "batch"}}},
        "3 seeds cannot decide 1 claims",
    ),
}


@pytest.mark.parametrize(("data", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_design_that_cannot_be_meant_is_one_line(data: dict[str, Any], message: str) -> None:
    assert_unsound(data, message)


def test_looks_are_frozen(tmp_path: Path) -> None:
    freeze(parse("x", "cpu", DATA), tmp_path)
    assert changes_since_frozen(parse("x", "cpu", DATA), tmp_path) == []
    found = changes_since_frozen(parse("x", "cpu", with_looks(looks=[3, 6], spending="obrien_fleming")), tmp_path)
    words = "2, 4, 6, pocock before, 3, 6, obrien_fleming now"
    assert [str(change) for change in found] == [f"looks were changed after the freeze, before the first run: {words}"]


@pytest.fixture
def reproduce(cli, tmp_path, workers_here):
    """Return a function that reproduces claims under looks and returns seeds run, messages and the table."""

    def run(*claims: dict[str, Any], also: tuple[str, ...] = ()) -> tuple[set[int], str, str]:
        path = tmp_path / "own_looks.yaml"
        path.write_text(yaml.safe_dump(with_looks(*claims), sort_keys=False))
        words = ("scale=cpu", "jobs=1", "threads=1", "device=cpu", f"results_dir={tmp_path / 'results'}")
        status, stdout, stderr = cli("reproduce", str(path), *words, *also)
        assert status == 0, stderr
        trained = find_runs([tmp_path / "results"]) if (tmp_path / "results").exists() else []
        return {run.config["seed"] for run in trained}, stderr, stdout

    return run


def test_reproduce_stops_at_the_look_that_decides(reproduce, tmp_path) -> None:
    seeds, said, table = reproduce(DECIDED)
    assert seeds == {3, 1}
    assert "look 1 of at most 3, 2 of at most 6 seeds: 0 of 1 claims are open" in said
    assert "Looked at in batches of seeds: look 1 of at most 3, 2 of at most 6 seeds." in table
    assert "not finished" not in table
    (claim,) = json.loads(next(tmp_path.rglob("claims.json")).read_text())["claims"]
    assert (claim["verdict"], claim["n"]) == ("holds", 2)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("metrics.csv")}
    again, said, same = reproduce(DECIDED)
    assert (again, same) == (seeds, table)
    assert said.count(" new, ") == 1
    assert {path: path.stat().st_mtime_ns for path in before} == before
    _, said, _ = reproduce(DECIDED, also=("--dry-run",))
    assert "no claim is open" in said
    assert "runs: 0 finished" not in said
    assert ", 0 new, 0 to resume" in said
    _, said, _ = reproduce(DECIDED, OPEN, also=("--dry-run",))
    assert ", at most" in said


def test_reproduce_goes_on_to_the_cap_while_a_claim_is_open(reproduce) -> None:
    seeds, said, table = reproduce(DECIDED, OPEN)
    assert seeds == {3, 1, 4, 15, 9, 2}
    assert "look 2 of at most 3, 4 of at most 6 seeds: 1 of 2 claims are open" in said
    assert "look 3 of at most 3, 6 of at most 6 seeds" in table


def test_reproduce_continues_at_the_look_where_it_was_stopped(reproduce, tmp_path) -> None:
    reproduce(DECIDED)
    first = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("metrics.csv")}
    seeds, _, _ = reproduce(DECIDED, OPEN)
    assert len(seeds) == 6
    assert {path: path.stat().st_mtime_ns for path in first} == first


def test_no_look_is_said_to_be_the_last_where_the_records_are_further(reproduce) -> None:
    reproduce(OPEN)
    seeds, said, table = reproduce(DECIDED)
    assert len(seeds) == 6
    assert "claims are open" not in said
    assert "look 3 of at most 3, 6 of at most 6 seeds" in table


def test_a_claim_that_was_changed_after_the_runs_says_so_in_the_table_and_beside_its_verdict(reproduce) -> None:
    _, _, before = reproduce(DECIDED)
    assert "after the first run" not in before
    _, _, after = reproduce({**DECIDED, "in": "< 50"})
    assert "- Claim 'the loss is below 100' was changed after the first run: region: ['-inf', 100.0] before, " in after
    (line,) = (line for line in after.splitlines() if ": the loss is below 100 (" in line)
    assert line.endswith("; changed after the first run)")


def test_reproduce_with_looks_shows_all_seeds_in_its_plan_and_takes_no_single_arm(reproduce, cli, tmp_path) -> None:
    seeds, said, _ = reproduce(DECIDED, also=("--dry-run",))
    assert seeds == set()
    assert "A title, at most" in said
    assert "6 runs: 0 finished, 6 new" in said
    status, _, said = cli("reproduce", str(tmp_path / "own_looks.yaml"), "scale=cpu", "--cell", "none")
    assert status == 2
    assert "adds seeds until its claims are decided" in said


IN_STAGES = {**with_looks(OPEN, looks=[2, 4]), "select": MADE_UP["select"], "grid": {"seed": [3, 1, 4, 15]}}
OF_TIME = ("timing.csv", "status.json", "environment.json")  # of what it took, and of how many attempts


def _declared_and_found(folder: Path) -> dict[str, Any]:
    """Return every file of an experiment that is the same whenever it is made."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in (*OF_TIME, ".lock")]
    found: dict[str, Any] = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    frozen = json.loads(found["own/cpu/frozen.json"])
    return found | {"own/cpu/frozen.json": {key: frozen[key] for key in frozen if key != "date"}}


@pytest.mark.slow
def test_reproduce_killed_in_and_between_its_stages_ends_in_the_same_files(tmp_path: Path) -> None:
    """A search, two looks, and what is made of them: records, choice, claims and tables, at every 60th operation."""
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(IN_STAGES, sort_keys=False))
    results = tmp_path / "results"
    words = [str(tmp_path / "own.yaml"), "jobs=1", "threads=1", "device=cpu", f"results_dir={results}"]
    reproduce = command("reproduce", *words)
    status, operations = run_until(None, reproduce, results)
    assert (status, operations > 200) == (0, True)
    expected = _declared_and_found(results)
    for dies in (3, *range(30, operations, 60), operations - 2):
        shutil.rmtree(results)
        assert run_until(dies, reproduce, results)[0] == KILLED
        assert run_until(None, reproduce, results)[0] == 0
        assert _declared_and_found(results) == expected, dies
