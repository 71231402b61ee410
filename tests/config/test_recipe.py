"""The recipe: what `run` and `sweep` set where nothing is typed, and nobody else does."""

import shlex
import sys

import pytest
import yaml

from normexp.config import compose, option, options
from normexp.config.recipe import KEY, NONE, Item, naming, recipe, with_recipe
from normexp.errors import Impossible, UserError


@pytest.mark.parametrize(
    "words", [["recipe=none"], ["study=deep_chain"], ["schedule=constant", "init=default", "model=linear"]]
)
def test_recipe_sets_nothing_where_none_is_wanted(words):
    assert recipe(words) == {}
    assert compose(with_recipe(words)) == compose([word for word in words if KEY not in word])


def test_recipe_is_under_what_is_typed():
    for typed in ("optim.lr=0.3", "epochs=3", "schedule.warmup=0.2"):
        key, _, value = typed.partition("=")
        changes = compose(with_recipe(["dataset=cifar10", typed])).changes
        assert (str(changes[key]), changes["schedule"]) == (value, "cosine")


def test_an_error_says_what_is_of_the_recipe_and_was_not_typed():
    settings = recipe(["dataset=csv", "optim=sgd"])
    told = r"^model=mlp: no; model=mlp is of the recipe \(recipe=none leaves it out\)$"
    with pytest.raises(Impossible, match=told), naming(settings):
        raise Impossible("model=mlp: no")
    for said in ("optim=sgd: no", "dataset.validation=0.15: no", "x=1: no; did you mean model=mlp"):
        with pytest.raises(UserError, match=f"^{said}$"), naming(settings):
            raise UserError(said)


def test_recipe_leaves_a_typed_group_alone():
    config = compose(with_recipe(["dataset=cifar10", "optim=adam", "schedule=step"]))
    assert (config["optim"], config["schedule"]) == (option_values("optim", "adam"), option_values("schedule", "step"))


def option_values(group: str, name: str) -> object:
    return compose([f"{group}={name}"])[group]


def test_recipe_of_a_network_wins_over_that_of_a_data_set():
    plain, transformer = (recipe(["dataset=cifar10", f"model={name}"]) for name in ("cnn", "vit"))
    assert plain["optim.weight_decay"].origin == "dataset=cifar10"
    assert transformer["optim"] == Item("adamw", "model=vit")
    assert "optim.weight_decay" not in transformer
    assert transformer["dataset.flip"].origin == "dataset=cifar10"


def test_recipe_gives_steps_or_epochs_as_typed():
    assert "epochs" not in compose(with_recipe(["dataset=mnist", "steps=5"])).changes


@pytest.mark.parametrize("name", options("dataset"))
def test_recipe_makes_every_data_set_trainable_by_its_name_alone(name):
    target = ["dataset.file=a.csv", "dataset.target=y"] if name == "csv" else []
    folder = ["dataset.path=images"] if name == "image_folder" else []
    config = compose(with_recipe([f"dataset={name}", *target, *folder]))
    assert config.choices["schedule"] == "cosine"
    assert config["dataset"]["validation"] > 0  # something to look at and to choose by, which is not the test split


def test_recipe_of_a_sweep_over_schemes_is_one_for_all():
    settings = [recipe(["dataset=cifar10", f"norm={name}"]) for name in options("norm")]
    assert all(each == settings[0] for each in settings)


def test_recipe_holds_in_every_network():
    named = [
        f"{group}={name}"
        for group in ("dataset", "model")
        for name in options(group)
        if "_recipe_" in option(group, name)
    ]
    assert len(named) > 5
    assert [word for word in named if "norm" in recipe([word])] == ["model=torchvision"]  # published with it


def test_recipe_of_a_published_network_keeps_its_norm():
    words = ["model=torchvision", "model.name=resnet18", "probe=equilibrium"]
    assert compose(with_recipe(words)).choices["norm"] == "batch"
    assert compose(with_recipe([*words, "norm=group"])).choices["norm"] == "group"
    assert compose(words).choices["norm"] == "none"


def test_recipe_of_another_name_is_one_line():
    with pytest.raises(UserError, match=r"^recipe=best: must be one of auto, none$"):
        recipe(["recipe=best"])


def test_the_command_of_a_record_gives_its_configuration_whatever_the_recipe_is_then():
    for words in (["dataset=cifar10"], ["dataset=cifar10", "schedule=constant"], ["recipe=none", "norm=batch"]):
        config = compose(with_recipe(words))
        command = shlex.split(config.to_yaml().partition("\n")[0])[3:]
        assert f"{KEY}={NONE}" in command
        assert compose(with_recipe(command)) == config


def test_cfg_tells_what_comes_from_a_recipe(cli):
    _, stdout, _ = cli("run", "dataset=cifar10", "optim.lr=0.3", "--cfg")
    assert "\n# schedule=cosine: recipe of config.yaml\n" in stdout
    assert "\n# dataset.flip=true: recipe of dataset=cifar10\n" in stdout
    assert "\n# optim.lr" not in stdout
    assert yaml.safe_load(stdout)["optim"]["lr"] == 0.3
    _, bare, _ = cli("run", "dataset=cifar10", "recipe=none", "--cfg")
    assert "# " not in bare.partition("\n")[2]
    assert yaml.safe_load(bare)["schedule"]["_target_"].endswith("constant")


def test_run_says_its_recipe_and_records_what_it_came_to(undrawn, cli, results):
    words = ["model=linear", "epochs=1", "threads=1", f"results_dir={results}"]
    _, _, stderr = cli("run", *words)
    assert "recipe: schedule=cosine schedule.warmup=0.05 (recipe=none leaves it out)" in stderr
    assert "on this machine as it is now" in stderr
    (record,) = (results / "runs").glob("*/config.yaml")
    assert yaml.safe_load(record.read_text())["_changes_"]["schedule"] == "cosine"
    _, same, _ = cli("run", "--like", str(record.parent), f"results_dir={results}", "--quiet")
    assert same.strip() == str(record.parent)


def test_sweep_says_each_recipe_once(cli, results, workers_here):
    _, _, stderr = cli("sweep", "dataset=digits,mnist1d", "model=linear", "norm=none,batch", "seed=0,1", "--dry-run")
    assert (stderr.count("recipe: schedule=cosine"), stderr.count("dataset.validation=0.1")) == (2, 1)


def test_a_large_grid_reads_the_common_recipe_once(monkeypatch):
    recipe(["seed=0"])
    monkeypatch.setattr(sys.modules["normexp.config.options"], "load_yaml", lambda path: pytest.fail("read again"))
    assert recipe(["seed=1"])["schedule"].value == "cosine"
