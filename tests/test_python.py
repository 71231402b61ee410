"""`import normexp`: cheap, and every example of docs/python.md runs in order."""

import ast
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from one_line import one_line_error

import normexp
from normexp.records import CHECKPOINT
from normexp.records.packing import pack

TOP = Path(__file__).parent.parent
EXAMPLES = re.findall(r"```python\n(.*?)```", (TOP / "docs" / "python.md").read_text(), re.DOTALL)
OVERRIDES = ["dataset=covariate_shift", "model=mlp", "norm=batch", "steps=4"]


@pytest.fixture
def folder(tmp_path: Path, workers_here: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", lambda: 1)
    return tmp_path


def test_import_is_cheap() -> None:
    heavy = ("torch", "pandas", "hydra", "numpy", "matplotlib")
    code = f"import sys, normexp; normexp.UserError; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_everything_public_is_there_and_documented() -> None:
    text = (TOP / "docs" / "python.md").read_text()
    for name in normexp.__all__:
        assert getattr(normexp, name).__doc__, name
        assert f"normexp.{name}" in text or f"`{name}`" in text, name


def test_the_stub_tells_type_checkers_every_public_name() -> None:
    stub = ast.parse((TOP / "normexp" / "__init__.pyi").read_text())
    (told,) = (each.value for each in stub.body if isinstance(each, ast.Assign))
    assert ast.literal_eval(told) == sorted(normexp.__all__)


def test_convert_stays_the_function_beside_the_module_of_its_name() -> None:
    import normexp.norms.convert
    import normexp.norms.fold

    assert callable(normexp.convert)
    assert callable(normexp.fold)


def test_examples_of_the_document_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(compile(example, "docs/python.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "['done', 'done', 'done', 'done']" in shown
    assert "BatchNorm" not in shown  # converted in one network, folded away in the other
    assert len(EXAMPLES) == 5


@pytest.mark.slow
def test_runs_of_two_threads_are_those_of_one(folder: Path) -> None:
    """In a fresh process: what composes first, and the streams of dropout, are the process's."""
    code = """
import normexp
from concurrent.futures import ThreadPoolExecutor

def train(name):
    config = ["model=vit", "model.width=16", "model.layers=1", "model.dropout=0.5", "steps=40", "threads=1"]
    run = normexp.run([*config, f"results_dir={name}", f"seed={name[-1]}"])
    return (run.path / "metrics.csv").read_bytes()

with ThreadPoolExecutor() as threads:
    together = list(threads.map(train, ["a0", "a1", "a2"]))
print(together == list(map(train, ["b0", "b1", "b2"])))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_on_windows_python_is_told_as_the_command_line_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There a signal that asks whether a process lives ends it."""
    monkeypatch.setattr("normexp.errors.sys", SimpleNamespace(platform="win32"))
    with pytest.raises(normexp.UserError, match="Windows: normexp needs Linux or macOS"):
        normexp.run(OVERRIDES)


def test_load_model_gives_the_weights_that_were_trained(folder: Path) -> None:
    import torch

    run = normexp.run(OVERRIDES)
    model = normexp.load_model(run)
    fresh = normexp.load_model(normexp.run([*OVERRIDES, "seed=1"]).path)
    x = torch.linspace(-1, 1, 8)[:, None]
    assert not model.training
    assert torch.equal(model(x), normexp.load_model(run.path, input_shape=(1,), num_outputs=1)(x))
    assert not torch.equal(model(x), fresh(x))


@pytest.mark.parametrize("what", ["run", "compose", "load", "load_model"])
def test_what_python_writes_in_several_lines_is_refused_in_one(what: str) -> None:
    for given in (np.zeros((3, 2)), np.array(1.0)):
        with pytest.raises(normexp.UserError) as refused:
            getattr(normexp, what)(given)
        assert "\n" not in str(refused.value)


def test_a_run_that_is_at_home_is_found_from_python_as_a_shell_finds_it(folder: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    run = normexp.run([*OVERRIDES, "results_dir=~/mine"])
    assert run.path.is_relative_to(folder / "mine")
    below = run.path.relative_to(folder)
    assert normexp.load(f"~/{below}").runs["run"].size == 1
    assert not normexp.load_model(f"~/{below}").training
    monkeypatch.chdir(folder)
    (folder / "mine").rename(folder / "~")  # a folder of that very name
    assert normexp.load("~").runs["run"].size == 1


def test_load_model_needs_no_data_but_of_a_record_from_before_it_said_their_shape(folder: Path) -> None:
    """The record keeps the last part of a file's name, which was looked for where nobody had put it."""
    (folder / "tables").mkdir()
    table = folder / "tables" / "some.csv"
    table.write_text("a,b,y\n" + "".join(f"{i},{i % 7},{2 * i}\n" for i in range(60)))
    words = ["dataset=csv", f"dataset.file={table.relative_to(folder)}", "dataset.target=y", "model=linear", "steps=2"]
    run = normexp.run(words)
    table.unlink()
    assert next(normexp.load_model(run).parameters()).shape == (1, 2)
    about = json.loads((run.path / "environment.json").read_text())
    del about["data"]["input_shape"]
    (run.path / "environment.json").write_text(json.dumps(about))
    with pytest.raises(
        normexp.UserError, match=r"some\.csv: no such file; with input_shape= and num_outputs= load_model"
    ):
        normexp.load_model(run.path)
    assert normexp.load_model(run.path, input_shape=(2,), num_outputs=1)


def test_load_model_of_an_archived_run_takes_the_weights_that_stayed_where_they_were(folder: Path) -> None:
    run = normexp.run(OVERRIDES)
    trained = normexp.load_model(run).state_dict()
    pack(folder / "results")
    for path in (run.path, folder / "results" / "records.zip"):
        assert all((trained[name] == each).all() for name, each in normexp.load_model(path).state_dict().items())


def _cut_off(checkpoint: Path) -> None:
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])


def _with_another_weight(checkpoint: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(checkpoint, framework="pt") as file:
        tensors, facts = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    tensors[min(name for name in tensors if name.startswith("model/"))] += 1
    save_file(tensors, checkpoint, metadata=facts)


def _link(checkpoint: Path) -> None:
    checkpoint.symlink_to(checkpoint.rename(checkpoint.with_suffix(".elsewhere")))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_cut_off, r"checkpoint\.safetensors: damaged \(SafetensorError"),
        (_with_another_weight, r"checkpoint\.safetensors: damaged \(ValueError: its sha256 is another one\)"),
        (_link, r"checkpoint\.safetensors: damaged \(it is a link\)"),
        (Path.unlink, r"not there, so the weights are gone"),
    ],
)
def test_load_model_without_its_checkpoint_or_with_a_damaged_one_is_one_line(
    folder: Path, damage: Callable[[Path], object], said: str
) -> None:
    run = normexp.run(OVERRIDES)
    damage(run.path / CHECKPOINT)
    with pytest.raises(normexp.UserError, match=said):
        normexp.load_model(run.path)


def test_load_model_of_a_run_that_keeps_no_weights_says_why(folder: Path) -> None:
    run = normexp.run(OVERRIDES)
    (run.path / CHECKPOINT).unlink()
    for state, said in (("diverged", "such a run keeps no weights"), ("interrupted", "without weights so far; the")):
        run.write_status(state, step=1)
        with pytest.raises(normexp.UserError, match=f": {state}, [^\n]*{said}"):
            normexp.load_model(run.path)


def test_load_model_of_a_run_that_was_saved_before_it_diverged_says_so(folder: Path) -> None:
    run = normexp.run(OVERRIDES)
    run.write_status("diverged", step=1)
    with pytest.raises(normexp.UserError, match="diverged, and such a run keeps no weights"):
        normexp.load_model(run.path)


def test_load_model_of_a_study_says_that_it_trains_nothing(folder: Path) -> None:
    run = normexp.run(["study=orthogonalization", "study.widths=[16,32]", "study.depth=10"])
    with pytest.raises(normexp.UserError, match="study=orthogonalization measures, and trains no network"):
        normexp.load_model(run.path)


@pytest.mark.parametrize("value", ["5", "[1, 2]", "true", "none"])
def test_load_model_of_a_record_whose_group_is_no_mapping_is_one_line(folder: Path, value: str) -> None:
    run = normexp.run(["dataset=covariate_shift", "model=linear", "norm=none", "steps=1"])
    config = run.path / "config.yaml"
    config.write_text(re.sub(r"^inputs:\n(?: .*\n)+", f"inputs: {value}\n", config.read_text(), flags=re.MULTILINE))
    run.write_status(**{key: each for key, each in run.status.items() if key != "sha256"})
    with one_line_error(r"config\.yaml: damaged \(its inputs is "):
        normexp.load_model(run.path)


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "  widths: abc": r"model\.widths=abc: must be a list of integers in \[1, inf\)",
        "  widths:": r"model\.widths=null: must be a list of integers",
        "  activation: 5": r"model\.activation=5: must be one of relu, ",
        "  validation: x": r"dataset\.validation=x: must be an integer in \[0, inf\) or a share",
        "  split_seed:": r"dataset\.split_seed=null: must be an integer in \[0, inf\)",
        "  crop: {a: 1}": r"dataset\.crop=.*: must be an integer in \[0, inf\)",
    }.items(),
)
def test_load_model_of_a_record_with_a_value_of_another_kind_names_file_key_and_value(
    folder: Path, line: str, said: str
) -> None:
    run = normexp.run(["dataset=digits", "model=mlp", "model.widths=[8]", "steps=1"])
    config, key = run.path / "config.yaml", line.partition(":")[0]
    config.write_text(re.sub(rf"^{key}:.*\n(?:  - .*\n)*", f"{line}\n", config.read_text(), flags=re.MULTILINE))
    run.write_status(**{key: each for key, each in run.status.items() if key != "sha256"})
    with one_line_error(rf"config\.yaml: damaged \({said}"):
        normexp.load_model(run.path)


def test_load_model_of_a_checkpoint_of_another_run_is_one_line(folder: Path) -> None:
    run, other = normexp.run(OVERRIDES), normexp.run([*OVERRIDES, "seed=1"])
    (other.path / CHECKPOINT).replace(run.path / CHECKPOINT)
    with pytest.raises(normexp.UserError, match=r"metrics\.csv: damaged \(it is not as the checkpoint"):
        normexp.load_model(run.path)


def test_a_number_of_torch_or_numpy_is_one_value(folder: Path) -> None:
    normexp.run(OVERRIDES)
    import torch

    for seed in (np.int64(0), np.array(0), torch.tensor(0)):
        assert len(normexp.load("results").where(seed=seed).runs) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: normexp.run("norm=batch model=mlp"), r"give a list of overrides: \['norm=batch', 'model=mlp'\]"),
        (lambda: normexp.sweep("norm=none,batch"), "give a list of overrides"),
        (lambda: normexp.compose("norm=batch"), r"give a list of overrides: \['norm=batch'\]"),
        (lambda: normexp.run({"norm": "batch"}), r"give a list of overrides: \['norm=batch'\]"),
        (lambda: normexp.run(None), "None is no list of overrides"),
        (lambda: normexp.sweep(["norm=batch", 2]), "2 is no override; each is a text"),
        (lambda: normexp.run(["model=linear", "steps=1", "steps=2"]), r"^steps is given twice; give it once \(a sweep"),
        (lambda: normexp.compose(["seed=1", "norm=batch", "seed=1"]), "^seed is given twice; give it once"),
        (lambda: normexp.sweep(["seed=0,1", "model=linear", "seed=2"]), "^seed is given twice; give it once"),
        (lambda: normexp.sweep(["model=linear", "stack=true"], stack="auto"), "^stack is given twice; give it once$"),
        (lambda: normexp.sweep(["model=linear"], stack=None), "^stack=none: allowed: false, true, auto$"),
        (lambda: normexp.sweep(["model=linear"], stack=np.zeros(2)), r"^stack=\[0\. 0\.\]: allowed: false"),
        (lambda: normexp.load_model(["results"]), r"load_model: \['results'\] is no path; give one run directory"),
        (lambda: normexp.load_model(None), "load_model: None is no path"),
        (lambda: normexp.load_model("results", input_shape=3), "input_shape=3: must be a tuple"),
        (lambda: normexp.sweep(["model=linear"], jobs=0), r"jobs=0: must be an integer in \[1, inf\)"),
        (lambda: normexp.sweep(["model=linear", "jobs=x"]), r"jobs=x: must be an integer in \[1, inf\)"),
        (lambda: normexp.load(["results/runs"]), r"load: \['results/runs'\] is no path; give each by itself"),
        (lambda: normexp.sweep(["stack=true"], stack=True), "stack is given twice; give it once"),
        (lambda: normexp.run(["norm=bath"]), r"did you mean batch\?"),
        (lambda: normexp.load(), "no path given"),
        (lambda: normexp.load("nowhere"), "no such file"),
        (lambda: normexp.run(["model=linear"], force="no"), "force='no': must be True or False"),
        (lambda: normexp.sweep(["model=linear"], force="no"), "force='no': must be True or False"),
        (lambda: normexp.load_model("results", input_shape=(3, "a")), r"input_shape=\(3, 'a'\): must be a tuple"),
        (lambda: normexp.load_model("results", num_outputs="a"), r"num_outputs='a': must be an integer in \[1, inf\)"),
        (lambda: normexp.load_model("results", num_outputs=True), r"num_outputs=True: must be an integer"),
        (lambda: normexp.load_model("results", input_shape=()), r"input_shape=\(\): must be a tuple"),
        (lambda: normexp.load_model("results", plugins=None), r"plugins=None: must be a list of names of modules$"),
        (lambda: normexp.load_model("results", plugins=[5]), r"plugins=\[5\]: must be a list of names of modules$"),
        (lambda: normexp.load_model("a\0b"), r"a\\x00b: no such file"),
        (lambda: normexp.load("a\0b"), r"a\\x00b: no such file"),
    ],
)
def test_mistakes_are_one_line(folder: Path, call: object, message: str) -> None:
    with one_line_error(message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        (normexp, "sweeep", "sweep"),
        (normexp.norms, "Groupnorm", "GroupNorm"),
        (normexp.norms, "BatchNorm2d", "BatchNorm"),
    ],
)
def test_a_name_that_is_not_there_is_told_the_nearest(package: object, name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; did you mean {meant}\?$"):
        getattr(package, name)
    assert not hasattr(package, "quite_another")


def test_a_traceback_proposes_the_nearest_name_once() -> None:
    done = subprocess.run([sys.executable, "-c", "import normexp; normexp.sweeep"], capture_output=True, text=True)
    assert done.stderr.casefold().count("did you mean") == 1


def test_compose_resolves_what_run_trains(folder: Path) -> None:
    """With the recipe, as `normexp run --cfg` prints it, or without."""
    for words in (OVERRIDES, [*OVERRIDES, "recipe=none"]):
        assert normexp.run(words).path.name.endswith(f"-{normexp.compose(words).identity}")
    with one_line_error(r"^recipe=no: must be one of auto, none; did you mean none\?$"):
        normexp.compose(["recipe=no"])


def test_no_overrides_are_the_defaults() -> None:
    assert normexp.compose().identity == normexp.compose([]).identity


def test_load_model_takes_what_is_given_of_the_shapes(folder: Path) -> None:
    run = normexp.run(OVERRIDES)
    normexp.load_model(run, num_outputs=1)
    for given in ({"input_shape": (3,)}, {"num_outputs": 7}):
        with pytest.raises(normexp.UserError, match="its checkpoint is of another network"):
            normexp.load_model(run, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": None}, r"table: by=None is no key; give for example by=\['norm', 'optim\.lr'\]"),
        ({"by": ["norm", 3]}, "table: by=3 is no key"),
        ({"against": ["none"]}, r"table: against=\['none'\] is no name of an arm"),
        ({"format": None}, "table format 'None' does not exist; allowed: md, csv, tex, html"),
    ],
)
def test_a_table_of_what_is_no_text_is_refused_in_one_line(folder: Path, given: dict[str, Any], message: str) -> None:
    normexp.run(OVERRIDES)
    with one_line_error(message):
        normexp.load("results").table(**given)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, np.array])
def test_runs_are_chosen_by_several_values_of_any_kind(folder: Path, kind: Callable[[list[str]], Any]) -> None:
    run = normexp.run(OVERRIDES)
    assert list(normexp.load("results").where(norm=kind([run.config["_choices_"]["norm"]])).runs["run"]) == [
        run.path.name
    ]


def test_one_key_makes_the_rows_of_a_table(folder: Path) -> None:
    normexp.run(OVERRIDES)
    results = normexp.load("results/runs")
    assert results.table(by="norm") == results.table(by=["norm"])


def test_the_tables_have_the_columns_that_the_document_names() -> None:
    page = (TOP / "docs" / "python.md").read_text()
    (head,) = re.findall(r"^\| table .*besides `([\w, ]+)` \|$", page, re.MULTILINE)
    rows = re.findall(r"^\| `results\.(\w+)` \| .*? \| (.*) \|$", page, re.MULTILINE)
    results = normexp.load(TOP / "results" / "digits_five_schemes")
    assert [name for name, _ in rows] == ["runs", "curves", "probes", "claims"]
    for name, told in rows:
        common = alone[1] if (alone := re.search(r"of the others `([\w, ]+)` alone", told)) else head
        named = {*common.split(", "), *told.split("`")[1].split(", ")} - {"AXES"}
        assert named <= set(getattr(results, name).columns), name


def test_claims_are_a_frame() -> None:
    claims = normexp.load(TOP / "results" / "ioffe2015_table" / "cpu").claims
    assert set(claims["experiment"]) == {"ioffe2015_table"}
    assert set(claims["verdict"]) <= {"holds", "contradicted", "undecided", "not judged"}


@pytest.mark.parametrize("script", ["make_tables.py", "plot_curves.py"])
def test_scripts_turn_csv_files_into_tables_and_figures(
    folder: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are run here, where torch and pandas are imported already."""
    import matplotlib.pyplot as plt

    def run(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", [script, *words])
        runpy.run_path(str(TOP / "scripts" / script), run_name="__main__")

    plt.switch_backend("agg")
    for norm in ("none", "batch"):
        words = [f"norm={norm}" if word.startswith("norm=") else word for word in OVERRIDES]
        normexp.run([*words, "results_dir=results"])
    out = {"make_tables.py": ["tables"], "plot_curves.py": ["curves.png", "test/rmse"]}[script]
    run("results/runs", *out)
    plt.close("all")
    files = {"make_tables.py": ["table.md", "table.csv", "table.tex", "table.html", "best.csv"]}
    assert all((folder / out[0] / name).stat().st_size for name in files.get(script, [""]))
    with pytest.raises(SystemExit, match="usage: python scripts/"):
        run()


@pytest.mark.parametrize("read", [normexp.load, normexp.load_model])
def test_an_empty_path_is_none(read):
    with one_line_error(r"'' is empty; is a variable not set\?"):
        read("")
