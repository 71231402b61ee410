"""`normexp bench`: nobody wins by doing less, ratios are paired, mistakes are one line. Never a time."""

import importlib.util
import json
import os
import signal
from functools import cache

import pytest
import torch
from one_line import one_line_error

from normexp.bench.commands import usage
from normexp.bench.picture import races, write_picture
from normexp.bench.race import Side, race
from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.sides import ABOUT, NEEDS, side
from normexp.bench.suites import ABOUT as ABOUT_SUITES
from normexp.bench.suites import offset, tokens
from normexp.bench.suites.growth import copy_with_seed, directories, lengthen
from normexp.bench.suites.layers import counted
from normexp.bench.suites.memory import works as memory_works
from normexp.bench.suites.steps import DECODERS, GPT, TOLERANCE, deviation, name_of, result, sides
from normexp.bench.verb import bench
from normexp.bench.work import Work
from normexp.children import python
from normexp.cli.measure_parsers import SUITES
from normexp.errors import UserError
from normexp.records import RunDirectory, read_rows

IMAGES = ("dataset=cifar10", "dataset.crop=4", "dataset.flip=true", "batch_size=8", "norm=batch", "model.widths=[8,8]")
TABLE = ("dataset=house_prices", "model=linear", "batch_size=32")


@cache  # those of normexp are compared with every other
def losses(name: str, work: tuple[str, ...]) -> Side:
    return Side(name, side(name)(Work([*work, "threads=1"]))(5))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ABOUT if name not in ("normexp", "plain_gpt")])
def test_bench_side_trains_what_normexp_trains(name):
    skip_unless_there(name)
    if name == "script_2":
        pytest.skip("the same as script_0 in other processes")
    assert deviation(losses(name, IMAGES), losses("normexp", IMAGES)) < TOLERANCE


def skip_unless_there(name: str) -> None:
    if name in NEEDS and not importlib.util.find_spec(NEEDS[name]):
        pytest.skip(f"needs {NEEDS[name]}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["script_0", "resident", "hand_written", "lightning", "skorch"])
def test_bench_side_clips_gradients_where_normexp_does(name):
    skip_unless_there(name)
    clipped = (*IMAGES, "clip_norm=0.1")
    assert deviation(losses(name, clipped), losses("normexp", clipped)) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resident", "hand_written"])
@pytest.mark.parametrize("work", [TABLE, ("dataset=digits", "model=mlp", "norm=layer")], ids=["table", "digits"])
def test_bench_side_trains_other_works(name, work):
    assert deviation(losses(name, work), losses("normexp", work)) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS[1:])
def test_bench_side_trains_a_decoder(name):
    small = (*GPT, "model.width=16", "dataset.subset=100", "dataset.context=8")
    assert deviation(losses(name, small), losses("normexp", small)) < TOLERANCE


def test_bench_times_normexp_where_the_other_sides_are(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert Work(["model=linear"]).config["device"] == "cpu"


def test_bench_takes_the_rounds_that_are_asked_for(monkeypatch):
    taken = {}
    for name in ("growth", "steps"):
        run = f"normexp.bench.suites.{name}.run"
        monkeypatch.setattr(run, lambda _, rounds, __, name=name: taken.update({name: rounds}) or [])
    assert bench(["growth", "steps"], quick=False, rounds=None, out=None) == 0
    assert taken == {"growth": 3, "steps": 7}
    assert bench(["growth"], quick=False, rounds=5, out=None) == 0
    assert taken["growth"] == 5


def test_bench_says_which_decoder_the_plain_one_knows():
    with pytest.raises(UserError, match="plain_gpt knows norm=layer"):
        side("plain_gpt")(Work([*GPT, "model.width=16", "model.bias=true"]))


def test_bench_notices_other_losses():
    raced = [Side("normexp", [1.0, 0.5], [10.0, 12.0]), Side("resident", [1.0, 0.6], [5.0, 4.0])]
    found = result("own", IMAGES, raced)
    assert found.wrong == ("own: the losses of resident differ by 0.05, at most 0.002 is allowed",)
    assert found.cells == [[ABOUT["resident"], "2.50 (2.00 to 3.00)", "5.0e-02"]]
    raced[1].losses = [1.0, float("nan")]
    assert result("own", IMAGES, raced).wrong
    raced[1].losses = [1.0, 0.5001]
    assert not result("own", IMAGES, raced).wrong


def test_bench_of_one_of_the_usual_works_has_its_name():
    assert name_of([*reversed(GPT), "precision=bf16"]) == "gpt-bf16"
    assert name_of([*GPT, "threads=1"]) == "own"


def test_bench_offers_pictures_to_those_who_read_pictures():
    assert "script_0" in sides(IMAGES)
    assert "script_0" not in sides(TABLE)


def test_bench_counts_what_operators_read_write_and_multiply():
    x, y = torch.ones(3, 4), torch.ones(4, 5)
    found = counted([lambda: x @ y, lambda: x.view(2, 6)])
    assert (found.bytes, found.operators, found.flops) == (4 * (12 + 20 + 15), 1, 2 * 3 * 4 * 5)


def test_bench_writes_a_table_and_its_data(tmp_path):
    table = Result("x", "Caption.", ["side", "ratio"], [["plain", str(Ratio.of([2.0], [1.0]))]], data={"a": [1.0]})
    written = table.write(tmp_path / "new", {"commit": "c"})
    assert [path.name for path in written] == ["x.md", "x.json"]
    assert "| plain |  2.00 |" in written[0].read_text()
    assert json.loads(written[1].read_text()) == {
        "environment": {"commit": "c"}, "caption": "Caption.", "data": {"a": [1.0]}, "wrong": [],
    }  # fmt: skip


def test_bench_draws_a_dot_per_turn_of_normexp_over_the_other_sides(tmp_path):
    speeds = {"normexp": [6.0, 8.0], "resident": [3.0, 2.0], "skorch": [6.0, 4.0]}
    data = {name: {"steps_per_second": each, "losses": []} for name, each in speeds.items()}
    Result("steps-mlp", "Caption.", [], [], data=data).write(tmp_path, {"processor": "P", "cores": 2})
    chart = races(tmp_path)
    assert chart.data["ratio"].tolist() == [2.0, 4.0, 1.0, 2.0]
    assert chart.data["side"].nunique() == 2
    assert [path.name for path in write_picture(tmp_path)] == ["steps.png", "steps.svg"]
    assert write_picture(tmp_path / "nothing") == []


@pytest.mark.slow
def test_bench_memory_is_that_of_the_command():
    """A process begins with the peak of its parent, and this one is large."""
    held = b"x" * (200 * 2**20)
    assert usage(python("pass")).memory < 100 * 2**20 < len(held)
    assert usage(python("b'x' * (150 * 2**20)")).memory > 150 * 2**20
    with pytest.raises(UserError, match="boom"):
        usage(python("raise SystemExit('boom')"))


@pytest.mark.slow
def test_bench_growth_lengthens_curves(cli, results, tmp_path):
    assert cli("run", "model=linear", "steps=4", "eval_every=2", f"results_dir={results}", "threads=1")[0] == 0
    (run,) = (results / "runs").iterdir()
    copy_with_seed(run, tmp_path / "7", 7)
    lengthen(tmp_path / "7", 50)
    rows = read_rows(tmp_path / "7" / "metrics.csv")
    assert [int(row["step"]) for row in rows] == [0, 2, 4, *range(5, 52)]
    assert RunDirectory(tmp_path / "7").config["seed"] == 7
    assert RunDirectory(tmp_path / "7").status["step"] == 51
    status, stdout, _ = cli("table", str(tmp_path))
    assert status == 0
    assert "| none |     2 |    2/2 |" in stdout  # the copy counts as a run of its own


@pytest.mark.slow
def test_bench_growth_measures_every_verb_over_a_folder_of_runs():
    result = directories([3])
    assert result.headers == ["run directories", "status", "table", "plot", "run", "MB of table"]
    assert all(used["seconds"] > 0 and used["memory"] > 10 * 2**20 for used in result.data[3].values())


def test_bench_memory_takes_cifar_where_its_archive_is_named(monkeypatch):
    monkeypatch.setattr("normexp.data.cifar10.Cifar10.find", lambda self: False)
    assert list(memory_works([])) == ["digits cnn", "digits mlp"]
    named = memory_works(["dataset=cifar10", "dataset.archive=x.tar"])
    assert len(named) == 4
    assert all("dataset.archive=x.tar" in work for name, work in named.items() if "CIFAR" in name)
    assert memory_works(["norm=batch"]) == {"norm=batch": ("norm=batch",)}


def test_bench_tokens_has_every_scheme_that_acts_on_tokens():
    (table,) = tokens.run(quick=True, rounds=1, overrides=[])
    names = {row[0] for row in table.cells}
    assert {"rms", "derf", "rep_batch", "weight", "scaled_weight_standard"} <= names
    assert not {"none", "layer", "cosine"} & names
    assert all(min(times) > 0 for each in table.data["seconds"].values() for times in each.values())
    slow = tokens.result({"(1, 1, 1)": {"layer": [1.0, 2.0, 1.0], "a": [2.5, 2.0, 3.0], "b": [1.9, 9.0, 1.0]}})
    assert slow.notes == ("More than 2 times layer normalization in one of these: a.",)


def test_bench_offset_finds_what_torch_is_off_by_and_our_layers_are_not():
    (table,) = offset.run(quick=True, rounds=1, overrides=[])
    off = {row[0]: float(row[1]) for row in table.cells}
    for scheme in offset.SCHEMES:
        assert off[f"{scheme}, mean 1000"] < off[f"{offset.TORCH}, mean 1000"] / 5
        assert off[f"{scheme}, mean 1e+06"] < 0.2 < off[f"{offset.TORCH}, mean 1e+06"]
    assert [row[0] for row in table.cells if not row[2]] == [row[0] for row in table.cells if "1e+06" in row[0]]


def test_bench_help_names_every_suite():
    assert tuple(ABOUT_SUITES) == SUITES


def test_bench_that_is_told_to_end_goes_as_with_ctrl_c(cli, monkeypatch):
    monkeypatch.setattr("normexp.bench.suites.looks.run", lambda *_: [os.kill(os.getpid(), signal.SIGTERM)])
    status, _, stderr = cli("bench", "looks")
    assert (status, stderr.splitlines()[1:]) == (130, ["normexp: interrupted"])


@pytest.mark.slow
def test_bench_says_what_a_side_refuses_in_one_line():
    with one_line_error("bench: side plain_gpt: plain_gpt knows norm=layer"):
        race(["plain_gpt"], [*GPT, "model.width=16", "model.bias=true"], 1, 0.1)
