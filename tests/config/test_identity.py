"""What makes two runs the same run."""

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from normexp.config import compose, option, options
from normexp.config.identity import staleness
from normexp.config.options import config_dir, groups, root, usual_options

SAME = {
    "folder": ["results_dir=elsewhere"],
    "device": ["device=cpu"],
    "threads": ["threads=2"],
    "plugins": ["plugins=[json]"],
    "logger": ["logger=tensorboard"],
    "defaults by name": ["norm=none", "seed=0", "epochs=20"],
}
OTHER = {
    "seed": ["seed=1"],
    "norm": ["norm=batch"],
    "learning rate": ["optim.lr=0.2"],
    "precision": ["precision=bf16"],
    "length": ["epochs=21"],
    "evaluations": ["eval_every=7"],
    "other archive": ["dataset=mnist", "dataset.archive=b/other.zip"],
    "archive": ["dataset=mnist", "dataset.archive=b/raw.zip"],
    "no archive": ["dataset=mnist"],
}


@pytest.mark.parametrize("overrides", SAME.values(), ids=SAME)
def test_identity_ignores_where_a_run_is_computed(overrides):
    assert compose(overrides).name == compose([]).name


def test_identity_tells_runs_apart():
    names = [compose(overrides).name for overrides in ([], *OTHER.values())]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("own", "given"),
    [
        (["optim=torch.optim.SGD", "optim.lr=0.1"], "optim.momentum=0.9"),
        (["dataset=my_parts.Rings", "plugins=[my_parts]"], "dataset.validation=180"),
        (["norm=stack", "norm.activations=my_norms.Scale", "plugins=[my_norms]"], "norm.activations.start=null"),
    ],
)
def test_what_is_given_to_an_own_part_counts_where_the_usual_option_has_the_same(own, given):
    config = compose([*own, given])
    assert given in config.overrides
    assert compose(config.overrides).values == config.values
    assert config.identity != compose(own).identity


def test_torch_s_own_optimizer_is_another_one_than_the_option_that_is_made_of_it():
    assert compose(["optim=torch.optim.SGD", "optim.lr=0.1"]).identity != compose(["optim.lr=0.1"]).identity


def test_identity_of_a_moved_archive_is_the_same():
    names = {compose(["dataset=mnist", f"dataset.archive={folder}/raw.zip"]).identity for folder in ("a", "/b/c")}
    assert len(names) == 1


def test_identity_is_the_same_on_every_machine():
    assert compose(["norm=batch", "optim.lr=0.3"]).name == "digits-cnn-batch-seed0-0570833f"


@pytest.fixture
def own_configs(tmp_path, monkeypatch, undrawn):
    """Use a copy of configs/ that the test may change; returns a function that edits one file of it."""
    folder = tmp_path / "configs"
    shutil.copytree(config_dir(), folder)

    composing = sys.modules["normexp.config.compose"]  # the package shows the function of this name

    def edit(name: str, **changes: object) -> None:
        path = folder / name
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}, sort_keys=False))
        forget()

    def forget() -> None:
        for cached in (
            root,
            usual_options,
            groups,
            options,
            option,
            composing._composed,
        ):
            cached.cache_clear()

    monkeypatch.setattr(sys.modules["normexp.config.options"], "config_dir", lambda: folder)
    forget()
    yield edit
    forget()


def test_identity_survives_a_new_key_with_a_default(own_configs):
    before = [compose(overrides) for overrides in ([], ["norm=batch", "norm.eps=0.1"])]
    own_configs("norm/batch.yaml", renorm=False)
    own_configs("config.yaml", log_every=7)
    after = [compose(overrides) for overrides in ([], ["norm=batch", "norm.eps=0.1"])]
    assert after[1]["norm"]["renorm"] is False
    assert after[0]["log_every"] == 7
    assert [config.name for config in after] == [config.name for config in before]


TINY = ["model=linear", "steps=2", "batch_size=32"]


def test_identity_a_new_key_leaves_a_finished_run_finished(own_configs, cli, results):
    cli("run", *TINY, f"results_dir={results}")
    own_configs("config.yaml", log_every=7)
    status, _, stderr = cli("run", *TINY, f"results_dir={results}")
    assert (status, "done already" in stderr) == (0, True)


def test_identity_a_changed_default_makes_a_finished_run_stale(own_configs, cli, results):
    cli("run", *TINY, f"results_dir={results}")
    usual = compose([])["optim"]["lr"]
    own_configs("optim/sgd.yaml", lr=0.123)
    status, _, stderr = cli("run", *TINY, f"results_dir={results}")
    assert status == 2
    assert f"stale, its optim.lr was {usual} and is 0.123 now" in stderr


def test_identity_a_changed_default_makes_a_begun_run_stale(own_configs, cli, results):
    _, stdout, _ = cli("run", *TINY, f"results_dir={results}", "--quiet")
    status_file = Path(stdout.strip()) / "status.json"
    status_file.write_text(status_file.read_text().replace('"done"', '"interrupted"'))
    own_configs("optim/sgd.yaml", lr=0.123)
    status, _, stderr = cli("run", *TINY, f"results_dir={results}")
    assert (status, "stale" in stderr) == (2, True)


def test_identity_a_setting_that_another_replaces_makes_no_run_stale():
    recorded = {"steps": 20, "epochs": 3, "eval_every": None, "evals_per_epoch": 2}
    assert staleness(recorded, {**recorded, "epochs": 5}) == ""
    assert staleness(recorded, {**recorded, "evals_per_epoch": 1}) == "stale, its evals_per_epoch was 2 and is 1 now"
    assert staleness(recorded, {**recorded, "steps": None, "epochs": 5}) != ""


def test_identity_force_trains_a_stale_run_again(own_configs, cli, results):
    cli("run", *TINY, f"results_dir={results}")
    own_configs("optim/sgd.yaml", lr=0.123)
    assert cli("run", *TINY, f"results_dir={results}", "--force", "--quiet")[0] == 0
    assert cli("run", *TINY, f"results_dir={results}", "--quiet")[0] == 0
