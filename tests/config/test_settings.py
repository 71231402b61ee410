"""Settings in a file or of a run (`--config`, `--like`, `--save`), `normexp diff`, and the habits of Hydra's users."""

import itertools
from pathlib import Path

import pytest
import yaml

SETTINGS = """
recipe: none
norm: batch
model: mlp
model.widths: [6]
optim: {lr: 0.1}
dataset.subset: 64
batch_size: 16
steps: 4
threads: 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my.yaml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed_settings(cli, *words: str) -> dict[str, object]:
    status, stdout, stderr = cli("run", *words, "--cfg")
    assert status == 0, stderr
    return yaml.safe_load(stdout)["_changes_"]


def trained(cli, *words: str) -> str:
    status, stdout, stderr = cli("run", *words, "--quiet")
    assert status == 0, stderr
    return stdout.splitlines()[-1]


def test_settings_of_a_file_are_those_that_it_names(cli, folder):
    assert printed_settings(cli, "--config", "my.yaml") == {
        "norm": "batch", "model": "mlp", "model.widths": [6], "optim.lr": 0.1, "dataset.subset": 64,
        "batch_size": 16, "steps": 4, "threads": 1,
    }  # fmt: skip


def test_settings_of_a_file_that_is_linked_are_its_own(cli, folder):
    Path("linked.yaml").symlink_to("my.yaml")
    assert printed_settings(cli, "--config", "linked.yaml") == printed_settings(cli, "--config", "my.yaml")


def test_settings_what_is_typed_wins(cli, folder):
    changes = printed_settings(cli, "--config", "my.yaml", "optim.lr=0.2", "epochs=2", "model.widths=[7]")
    assert (changes["optim.lr"], changes["epochs"], changes["model.widths"]) == (0.2, 2, [7])
    assert "steps" not in changes


def test_settings_a_group_that_is_typed_wins_with_its_keys(cli, folder):
    assert "optim.lr" not in printed_settings(cli, "--config", "my.yaml", "optim=adam")


def test_settings_of_a_run_make_the_same_run(cli, folder):
    first = trained(cli, "--config", "my.yaml")
    assert trained(cli, "--like", first) == first
    assert trained(cli, "--config", f"{first}/config.yaml") == first
    assert trained(cli, "--like", first, "seed=1") != first


def test_settings_changed_in_a_copy_of_a_run_count(cli, folder):
    """What stands there and under `_changes_` otherwise is refused."""
    first = Path(trained(cli, "--config", "my.yaml"))
    text = (first / "config.yaml").read_text()
    Path("edited.yaml").write_text(text.replace("\nseed: 0", "\nseed: 3").replace("  momentum: 0.9", "  momentum: 0.5"))
    changes = printed_settings(cli, "--config", "edited.yaml")
    assert (changes["seed"], changes["optim.momentum"], changes["batch_size"]) == (3, 0.5, 16)
    Path("edited.yaml").write_text(text.replace("\nbatch_size: 16", "\nbatch_size: 32"))
    status, _, stderr = cli("run", "--config", "edited.yaml")
    said = "batch_size is 32, and 16 under _changes_; let both say the same"
    assert (status, stderr) == (2, f"normexp: --config edited.yaml: {said}\n")


def test_settings_of_another_version_keep_what_was_recorded(cli, folder):
    """A default that has changed since is said anew; a key that is gone is refused."""
    text = (Path(trained(cli, "--config", "my.yaml")) / "config.yaml").read_text()
    Path("older.yaml").write_text(text.replace("  momentum: 0.1", "  momentum: 0.01"))
    assert printed_settings(cli, "--config", "older.yaml")["norm.momentum"] == 0.01
    Path("older.yaml").write_text(text.replace("\nseed: 0", "\nseed: 0\nshuffle: true"))
    status, _, stderr = cli("run", "--config", "older.yaml")
    assert (status, stderr.partition(";")[0]) == (2, "normexp: --config older.yaml: key 'shuffle' does not exist")


def test_settings_of_a_run_on_a_file_that_is_here_name_it(cli, folder):
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{i},{2 * i}\n" for i in range(40)))
    table = ("dataset=csv", "dataset.file=points.csv", "dataset.target=y", "model=linear", "steps=1", "threads=1")
    first = trained(cli, *table)
    assert trained(cli, "--like", first) == first


@pytest.mark.parametrize("given", ["--like", "--config"])
def test_settings_of_a_run_whose_text_is_not_here_take_no_other(cli, folder, given):
    """It was left out, and the run trained on the text that a run has by default."""
    (folder / "cats.txt").write_text("the cat sat on the mat. " * 200)
    words = ["dataset.validation=100", "dataset.test=100", "dataset.context=8", "model.width=8", "steps=1", "threads=1"]
    first = trained(cli, "recipe=none", "dataset=text", "dataset.file=cats.txt", "model=gpt", *words)
    settings = first if given == "--like" else f"{first}/config.yaml"
    (folder / "cats.txt").rename("elsewhere.txt")
    status, _, stderr = cli("run", given, settings)
    told = f"--like {first}: cats.txt, which it was trained on, is not here; dataset.file=PATH says where it is"
    assert (status, stderr) == (2, f"normexp: {told if given == '--like' else 'dataset.file=cats.txt: no such file'}\n")
    assert trained(cli, given, settings, "dataset.file=elsewhere.txt") == first


def test_a_saved_file_says_how_it_is_used(cli, folder):
    assert cli("run", "--cfg", "norm=batch", "--save", "my own.yaml")[0] == 0
    assert (folder / "my own.yaml").read_text().startswith("# normexp run --config 'my own.yaml'\n")


def test_settings_are_saved_for_another_time(cli, folder):
    first = trained(cli, "--config", "my.yaml", "optim.lr=0.3", "--save", "mine.yaml")
    assert trained(cli, "--config", "mine.yaml") == first
    status, _, stderr = cli("run", "--config", "my.yaml", "--save", "mine.yaml")
    assert (status, "is there already" in stderr) == (2, True)


def test_the_same_command_goes_on_though_it_has_saved_its_settings(cli, folder):
    words = ("--config", "my.yaml", "optim.lr=0.3", "--save", "mine.yaml")
    assert trained(cli, *words) == trained(cli, *words)


def test_settings_of_a_run_that_is_refused_are_not_saved(cli, folder):
    """The command without its mistake would be refused for the file that was there by then."""
    mistaken = ("dataset=csv", "dataset.target=y", "dataset.file=not_here.csv", "--save", "mine.yaml")
    status, _, stderr = cli("run", *mistaken)
    assert (status, stderr) == (2, "normexp: dataset.file=not_here.csv: no such file\n")
    assert not (folder / "mine.yaml").exists()


def test_settings_serve_a_sweep(cli, folder, workers_here):
    status, _, stderr = cli("sweep", "--config", "my.yaml", "norm=none,layer", "--dry-run")
    assert status == 0
    assert "2 runs: 0 finished, 2 new" in stderr


def test_settings_may_say_that_there_are_no_modules(cli, folder):
    Path("plain.yaml").write_text("recipe: none\nnorm: batch\nplugins: []\n")
    assert printed_settings(cli, "--config", "plain.yaml", "plugins=[]") == {"norm": "batch"}


def test_settings_of_a_record_name_no_code(cli, folder):
    first = Path(trained(cli, "--config", "my.yaml"))
    text = (first / "config.yaml").read_text().replace("_changes_:\n", "_changes_:\n  plugins: [os]\n")
    Path("planted.yaml").write_text(text)
    assert "plugins" not in printed_settings(cli, "--config", "planted.yaml")


MISTAKES = {
    "no file": (["--config", "none.yaml"], "", "--config none.yaml: no such file"),
    "a folder": (["--config", "."], "", "--config .: a folder, no file; the settings of a run are --like ."),
    "no record": (["--config", "bad.yaml"], "_choices_: 3\n_changes_: [1]\n", "--config bad.yaml: its _choices_ is 3"),
    "no mapping": (["--config", "bad.yaml"], "- a\n", "--config bad.yaml: not a mapping"),
    "nothing": (["--config", "bad.yaml"], "", "--config bad.yaml: is empty"),
    "a tab": (
        ["--config", "bad.yaml"],
        "optim:\n\tlr: 1\n",
        "line 2: found character that cannot start any token; indent",
    ),
    "a key twice": (
        ["--config", "bad.yaml"],
        "optim: {lr: 1}\noptim.lr: 2\n",
        "--config bad.yaml: optim.lr is given twice; give it once",
    ),
    "an alias": (
        ["--config", "bad.yaml"],
        "seed: &a 1\nsteps: *a\n",
        "bad.yaml: line 2: *a is an alias; write out what",
    ),
    "a number in quotes": (
        ["--config", "bad.yaml"],
        "seed: '1'\n",
        "bad.yaml: seed='1' is a text; leave out the quotes",
    ),
    "no text": (["--config", "bad.yaml"], "a: [\n", "--config bad.yaml: not YAML"),
    "an unknown option": (["--config", "bad.yaml"], "norm: bach\n", "--config bad.yaml: norm=bach does not exist"),
    "an unknown key": (["--config", "bad.yaml"], "optim.rl: 1\n", "--config bad.yaml: key 'optim.rl' does not exist"),
    "a list of Hydra's": (["--config", "bad.yaml"], "defaults:\n- norm: batch\n", "key 'defaults' does not exist"),
    "a variable": (
        ["--config", "bad.yaml"],
        "results_dir: $HOME/x\n",
        "--config bad.yaml: results_dir=$HOME/x: a vari",
    ),
    "code": (["--config", "bad.yaml"], "plugins: [os]\n", "plugins are code that is run, so they are typed"),
    "no key": (["--config", "bad.yaml"], "3: 4\n", "'3' is no key"),
    "what is typed": (["--config", "bad.yaml", "norm=bach"], "seed: 1\n", "normexp: norm=bach does not exist"),
    "both": (["--config", "bad.yaml", "--like", "x"], "seed: 1\n", "--config bad.yaml --like x: give one of the two"),
    "no run": (["--like", "bad.yaml"], "seed: 1\n", "holds no run directory"),
    "no folder to save to": (["--save", "no/where.yaml"], "", "no such folder: no"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_settings_mistakes_are_one_line(cli, folder, case):
    words, content, said = MISTAKES[case]
    (folder / "bad.yaml").write_text(content)
    status, _, stderr = cli("run", *words)
    assert status == 2
    assert said in stderr
    assert len(stderr.splitlines()) == 1
    assert not (folder / "results").exists()


@pytest.mark.parametrize("words", [["++seed=3", "--cfg"], ["--cfg", "job", "seed=3"]], ids=" ".join)
def test_habits_of_hydra_mean_something(cli, folder, words):
    status, stdout, stderr = cli("run", *words)
    assert status == 0, stderr
    assert " seed=3\n" in stdout


def test_diff_of_equal_runs_says_so(cli, folder, monkeypatch):
    load = itertools.count()  # of the machine, which is never twice the same
    for module in ("training.machine.hardware", "runs.recorder"):
        monkeypatch.setattr(f"normexp.{module}.load_average", lambda: [next(load)])
    run = trained(cli, "--config", "my.yaml")
    other = trained(cli, "--config", "my.yaml", "results_dir=elsewhere")
    status, stdout, _ = cli("diff", run, other)
    assert status == 0
    said = dict(line.split(": ") for line in stdout.splitlines()[2:])
    assert said == {
        **dict.fromkeys(["configuration", "environment", "data", "status"], "equal"),
        "curves": "equal until step 4",
    }


def test_diff_names_keys_values_and_the_step(cli, folder):
    run = trained(cli, "--config", "my.yaml")
    slower = trained(cli, "--like", run, "optim.lr=0.01", "threads=1")
    _, stdout, _ = cli("diff", run, slower)
    assert stdout.startswith("A  results/runs/")
    assert "optim.lr  0.1 | 0.01" in stdout
    assert "equal until step 0, then, at step 4 | 4:" in stdout
    assert "environment: equal" in stdout


def test_diff_wants_one_run_a_side(cli, folder):
    run = trained(cli, "--config", "my.yaml")
    trained(cli, "--config", "my.yaml", "seed=1")
    status, _, stderr = cli("diff", run, "results")
    assert (status, "holds 2 runs; name one run directory" in stderr) == (2, True)
