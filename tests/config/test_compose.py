"""Overrides -> one checked configuration, or one line that says what is wrong."""

import random
import shlex

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from omegaconf import OmegaConf
from one_line import assert_refused

from normexp.cli.verbs import main
from normexp.config import Config, compose, flat, groups, options
from normexp.config.compose import _composed as composed
from normexp.config.options import config_dir, is_description, option, without_descriptions
from normexp.config.recipe import with_recipe
from normexp.errors import UserError

OPTIONS = [options(group) for group in groups()]
MISTAKES = {
    "key in no group": (["train.eposch=3"], "'train.eposch'", "did you mean epochs=3?"),
    "key in a group": (["optim.lrr=3"], "'optim.lrr'", "did you mean optim.lr=3?"),
    "key of another option": (["norm=none", "norm.momentum=0.1"], "'norm.momentum'", "does not exist"),
    "new key": (["+x=1"], "+x=1", "cannot be added"),
    "forced key": (["++seed=1"], "++seed=1", "cannot be added"),
    "sweep": (["seed=0,1"], "seed=0,1", "one value"),
    "package": (["norm@x=batch"], "norm@x=batch", "drop the @x"),
    "unbalanced list": (["model=mlp", "model.widths=[1,"], "model.widths=[1,", "cannot be read"),
    "range": (["optim.lr=-1"], "optim.lr=-1", "a number in (0, inf)"),
    "type": (["optim.lr=abc"], "optim.lr=abc", "a number in (0, inf)"),
    "infinite": (["optim.lr=inf"], "optim.lr=inf", "a number in (0, inf)"),
    "not a number": (["optim.lr=nan"], "optim.lr=nan", "a number in (0, inf)"),
    "list for a number": (["optim.lr=[1]"], "optim.lr=[1]", "a number in (0, inf)"),
    "number for a list": (["model=mlp", "model.widths=3"], "model.widths=3", "a list of integers"),
    "item of a list": (["model=mlp", "model.widths=[3,0]"], "model.widths=[3,0]", "integers in [1, inf)"),
    "length of a list": (["optim=adam", "optim.betas=[0.9]"], "optim.betas=[0.9]", "2 numbers"),
    "clip at 0": (["clip_norm=0"], "clip_norm=0", "a number in (0, inf) or null"),
    "clip at infinity": (["clip_norm=inf"], "clip_norm=inf", "a number in (0, inf) or null"),
    "both lengths": (["steps=5", "epochs=2"], "epochs=2 steps=5", "one of the two"),
    "no length": (["epochs=null"], "epochs=null", "give epochs or steps"),
    "one example": (["batch_size=1", "norm=batch"], "batch_size=1 with norm=batch", "batch_size=2"),
    "table for convolutions": (["model=cnn", "dataset=house_prices"], "model=cnn needs images", "model=mlp"),
    "crop a table": (["model=mlp", "dataset=house_prices", "dataset.crop=1"], "dataset.crop", "leave them out"),
    "maps for vectors": (["model=mlp", "norm=instance"], "norm=instance needs feature maps", "norm=batch"),
    "maps unless": (["model=mlp", "norm=filter_response"], "norm=filter_response", "use norm.learn_eps=true"),
    "line break": (["results_dir=a\nb"], "'results_dir=a?b'", "without control characters"),
    "terminal escape": (["results_dir=a\x1b[2J"], "a?[2J", "without control characters"),
    "bytes that are no text": (["dataset=csv", "dataset.file=/a\udcff"], "/a?", "without control characters"),
    "digits without end": ([f"seed={'1' * 5000}"], "seed=111", "too many digits"),
    "more than 64 bits": (["epochs=99999999999999999999"], "epochs=99", "of 64 bits"),
    "more than float32": (["inputs=binarize", "inputs.threshold=1e300"], "1e+300", "at most 3.4e+38"),
    "more than any float": ([f"optim.lr=1{'0' * 400}"], "optim.lr=1000", "a number in (0, inf)"),
    "threads of no machine": (["threads=1000000"], "threads=1000000", "[1, 1024]"),
    "name without end": ([f"norm={'x' * 100_000}"], "norm=xxx", "(100,000 characters)"),
    "no network of torchvision": (["model=torchvision", "model.name=resnet_18"], "model.name=resnet_18", "resnet18?"),
    "a class of torch": (["norm=BatchNorm2d"], "norm=BatchNorm2d", "did you mean norm=batch?"),
    "a class of ours": (["norm=EvoNormS0"], "EvoNormS0", "did you mean norm=evonorm_s0?"),
    "an abbreviation": (["norm=frn"], "norm=frn", "did you mean norm=filter_response?"),
    "another program's key": (["learning_rate=1"], "'learning_rate'", "did you mean optim.lr=1?"),
    "another program's key in its group": (
        ["optim.learning_rate=1"],
        "optim.learning_rate",
        "did you mean optim.lr=1?",
    ),
    "a key of no option": (["norm.num_groups=8"], "norm.num_groups", "has it: norm=group norm.num_groups=8"),
    "of networks that read texts": (
        ["dataset=text", "model=linear", "dropout=0.1"],
        "",
        "mean model=gpt model.dropout",
    ),
    "of which it is the beginning": (["batch=32"], "'batch'", "did you mean batch_size=32?"),
    "alike, but no such value": (["resolution=32"], "'resolution'", "and GROUP.KEY"),
    "another word for a place": (
        ["dataset=csv", "dataset.path=a.csv"],
        "dataset.path",
        "did you mean dataset.file=a.csv?",
    ),
    "a data set with other signs": (["dataset=MNIST-1D"], "dataset=MNIST-1D", "did you mean dataset=mnist1d?"),
    "a file for a data set": (["dataset=a.csv"], "dataset", "did you mean dataset=csv dataset.file=a.csv?"),
    "list of the chosen network before a number of another": (
        ["model=mlp", "model.widht=3"],
        "model.widht",
        "did you mean 'model.widths=[3]'?",
    ),
    "several for a list": (["model.widths=1,2"], "model.widths", "did you mean 'model.widths=[1,2]'?"),
    "a name with commas and accents": (
        ["dataset=csv", "dataset.file=my table,über.csv"],
        "dataset.file=my table,",
        """a name with commas is typed 'dataset.file="my table,über.csv"'""",
    ),
    "range for a list": (
        ["model=mlp", "model.widths=range(3)"],
        "range(3)",
        "allowed here; `normexp sweep` takes several",
    ),
    "number for an option": (["optim=0.5"], "optim=0.5 does not exist", "allowed: adam, adamw"),
    "mapping for an option": (["optim={lr:0.1}"], "optim={'lr': 0.1} does not exist", "allowed: adam, adamw"),
    "key of a sweep": (["jobs=2"], "jobs=2 is of a grid", "use `normexp sweep`"),
    "key of an executor": (["executor.workers=2"], "executor.workers=2 is of a grid", "use `normexp sweep`"),
    "alike a key of a sweep": (["job=2"], "key 'job' does not exist", "did you mean jobs=2?"),
    "alike the recipe": (["recpie=none"], "key 'recpie' does not exist", "did you mean recipe=none?"),
    "a shell's variable": (["results_dir=$HOME/x"], "results_dir=$HOME/x", "not filled in here: write the path"),
    "a variable of OmegaConf": (["results_dir=${oc.env:HOME}/x"], "${oc.env:HOME}/x", "write the path"),
    "no such user": (["results_dir=~nosuchuser/x"], "results_dir=~nosuchuser/x", "no user 'nosuchuser' here"),
    "a logger twice": (["logger=[mlflow,mlflow]"], "logger=[mlflow,mlflow]", "name each once"),
    "own study": (["study._target_=my.S", "plugins=[my]"], "study._target_", "may be named by GROUP._target_"),
}


@pytest.mark.parametrize(("overrides", "named", "way_out"), MISTAKES.values(), ids=MISTAKES)
def test_compose_refuses_in_one_line(overrides, named, way_out):
    with pytest.raises(UserError) as caught:
        compose(overrides)
    message = str(caught.value)
    assert named in message
    assert way_out in message
    assert message.isprintable()
    assert len(message) < 1500


def test_compose_without_overrides_changes_nothing():
    config = compose([])
    assert config.changes == {}
    assert config.choices == {group: config.choices[group] for group in groups()}
    assert (config["epochs"], config["steps"]) == (20, None)


def test_compose_steps_replace_epochs():
    config = compose(["steps=7"])
    assert (config["steps"], config["epochs"]) == (7, None)
    assert config.changes == {"steps": 7}


def test_compose_null_steps_leave_epochs():
    assert compose(["steps=null", "epochs=3"]).changes == {"epochs": 3}


def test_compose_converts_to_the_type_of_the_default():
    assert type(compose(["optim.lr=1"])["optim"]["lr"]) is float


def test_compose_takes_lists():
    config = compose(["model=mlp", "model.widths=[7,8]", "schedule=step", "schedule.at=[0.1,0.2,0.3]"])
    assert config["model"]["widths"] == [7, 8]
    assert config["schedule"]["at"] == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("text", ["1e3", "1_000", "0123", ".5", "7"])
def test_compose_keeps_a_text_as_it_was_typed(text):
    assert compose([f"results_dir={text}"])["results_dir"] == text


def test_compose_the_order_of_overrides_does_not_matter():
    one, other = ["optim=adam", "optim.lr=0.3", "seed=4"], ["seed=4", "optim.lr=0.3", "optim=adam"]
    assert compose(one) == compose(other)


def test_compose_does_not_remember_an_earlier_configuration():
    compose(["model=mlp", "model.widths=[7]", "optim.lr=0.5"])
    assert compose(["model=mlp"])["model"]["widths"] == [100, 100, 100]


def test_compose_a_default_given_by_hand_is_no_change():
    assert compose(["seed=0", "norm=none", "optim.momentum=0.9", "epochs=20"]) == compose([])


@pytest.mark.parametrize("places", [[-1], pytest.param(range(max(map(len, OPTIONS))), marks=pytest.mark.slow)])
def test_compose_puts_options_together_as_hydra_does(places):
    """All of the options stand in one of the many configurations; Hydra takes a tenth of a second for each."""
    for place in places:
        check_as_hydra_does({group: names[place % len(names)] for group, names in zip(groups(), OPTIONS, strict=True)})


def check_as_hydra_does(chosen):
    with initialize_config_dir(str(config_dir()), version_base="1.3"):
        whole = OmegaConf.to_container(hydra_compose("config", [f"{key}={name}" for key, name in chosen.items()]))
    found = composed(tuple(chosen.items()))
    assert list(flat(found.values).items()) == list(flat(without_descriptions(whole)).items())
    assert not [key for key in flat(found.values) if any(is_description(part) for part in key.split("."))]
    assert found.choices == chosen
    for group in groups():
        assert found.about[group] == {key: value for key, value in whole[group].items() if is_description(key)}


def test_compose_no_option_wants_more_of_hydra_than_to_be_read():
    for group, name in ((group, name) for group, names in zip(groups(), OPTIONS, strict=True) for name in names):
        assert "defaults" not in option(group, name)
        assert "@package" not in (config_dir() / group / f"{name}.yaml").read_text(encoding="utf-8")


def test_compose_gives_every_configuration_lists_of_its_own():
    first, second = compose(["model=mlp", "model.widths=[3,4]"]), compose(["model=mlp", "model.widths=[3,4]"])
    first["model"]["widths"].append(5)
    assert second["model"]["widths"] == [3, 4]
    assert compose(["model=mlp", "model.widths=[3,4]"])["model"]["widths"] == [3, 4]


def test_compose_own_scheme_brings_its_own_parameters():
    config = compose(["norm._target_=mine.Scheme", "norm.strength=3", "plugins=[mine]"])
    assert config["norm"] == {"_target_": "mine.Scheme", "strength": 3}
    again = compose(shlex.split(" ".join(config.arguments)))
    assert again["norm"] == config["norm"]


AWKWARD = ["a b", " a", "a,b", "a=b", "it's", 'say "hi"', "back\\slash", "end\\", "${seed}", "{a}", "[a]", "(a)"]
AWKWARD += ["null", "True", "nan", "INF", "1e3", "0123", "./5", "~/runs", "é/ü", "#1", "a:b", "%20", "a\tb", '\\"']


@pytest.mark.parametrize("text", AWKWARD)
def test_compose_arguments_repeat_any_text(text):
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if '"' in text or text.endswith("\\") else None
    config = compose(["dataset=csv", "model=mlp", f"dataset.target={quoted or chr(34) + text + chr(34)}"])
    assert config["dataset"]["target"] == text
    assert _again(config) == config


def _again(config: Config) -> Config:
    """Compose what a shell would make of the configuration's own arguments."""
    return compose(shlex.split(" ".join(config.arguments)))


def _random_overrides(number: int) -> list[str]:
    source = random.Random(number)
    given = {
        "dataset": ["digits", "mnist", "cifar10"],
        "inputs": [*options("inputs")],
        "model": ["cnn", "convpool", "torchvision"],
        "norm": [*options("norm")],
        "optim": [*options("optim")],
        "schedule": [*options("schedule")],
        "seed": ["0", "1", "4294967295"],
        "batch_size": ["2", "100"],
        "precision": ["bf16"],
        "compile": ["true", "false", "norms"],
        "threads": ["null", "2"],
        "optim.lr": ["1", "0.3", "1e-3", "3e-7"],
        "model.normalize_output": ["true", "false"],
        "dataset.subset": ["null", "17"],
        "dataset.flip": ["true"],
        "results_dir": ['"a folder/of mine"', "../x", '"it\'s"'],
    }
    chosen = [f"{key}={source.choice(values)}" for key, values in given.items() if source.random() < 0.4]
    length = source.choice([[], ["steps=30"], ["epochs=3"], ["steps=null"]])
    overrides = chosen + length
    source.shuffle(overrides)
    return overrides


@pytest.mark.parametrize("number", range(30))
def test_compose_arguments_repeat_the_configuration(number):
    config = compose(_random_overrides(number))
    again = _again(config)
    assert again == config
    assert again.name == config.name
    assert again.to_yaml() == config.to_yaml()


@pytest.mark.parametrize("text", ["ü", "preis_€", "größe in m²", "größe (m²)", "日本語", "a=ü"])
def test_letters_beyond_ascii_need_no_quotes(text):
    assert compose(["dataset=csv", "model=mlp", f"dataset.target={text}"])["dataset"]["target"] == text
    assert compose(["dataset=csv", "model=mlp", f"dataset.target='{text}'"])["dataset"]["target"] == text


def test_lists_of_letters_beyond_ascii_need_no_quotes():
    config = compose(["dataset=csv", "model=mlp", 'dataset.features=[größe, "a, ü",n,preis in €]'])
    assert config["dataset"]["features"] == ["größe", "a, ü", "n", "preis in €"]


@pytest.mark.parametrize(
    ("typed", "columns"),
    [
        ("[Größe (m²),Balkon]", ["Größe (m²)", "Balkon"]),
        ("[Size (m2), ID]", ["Size (m2)", "ID"]),
        ("[a=b]", ["a=b"]),
        ("[a;b,c{d}]", ["a;b", "c{d}"]),
        ('["Size (m2)",ID]', ["Size (m2)", "ID"]),
    ],
)
def test_lists_of_columns_with_other_signs_need_no_quotes_of_hydra(typed, columns):
    assert compose(["dataset=csv", "model=mlp", f"dataset.features={typed}"])["dataset"]["features"] == columns


@pytest.mark.parametrize(
    "path", ["/data (1)/c.tar", "/Téléchargements/c.tar", "./o'clock/c", '../a"b', "/a#b", "C:\\ü\\c"]
)
def test_paths_need_no_quotes_of_hydra(path):
    config = compose([f"dataset.archive={path}", "dataset=cifar10"])
    assert config["dataset"]["archive"] == path
    assert compose(config.overrides)["dataset"]["archive"].endswith(path.replace("\\", "/").rpartition("/")[2])


def test_the_command_of_a_record_names_files_as_they_were_typed():
    config = compose(["dataset=csv", "model=mlp", "dataset.file=../my data/a.csv", "dataset.target=ü"])
    header, _, content = config.to_yaml().partition("\n")
    command = shlex.split(header)
    assert command[:3] == ["#", "normexp", "run"]
    assert compose(with_recipe(command[3:])) == config
    assert "my data" not in content  # the record itself may travel
    assert config.files == {"dataset.file": "../my data/a.csv"}


@pytest.mark.parametrize("verb", ["run", "sweep"])
@pytest.mark.parametrize(
    ("words", "several"),
    [
        (["seed=0", "seed=1"], " (a sweep takes seed=A,B)"),
        (["norm=batch", "norm=layer"], " (a sweep takes norm=A,B)"),
        (["jobs=1", "jobs=2"], ""),
    ],
)
def test_a_key_given_twice_on_the_command_line_is_one_line(verb, words, several, capfd, results):
    key = words[0].partition("=")[0]
    status = main([verb, *words, f"results_dir={results}"])
    assert (status, capfd.readouterr().err) == (2, f"normexp: {key} is given twice; give it once{several}\n")
    assert not results.exists()


def test_code_may_add_to_overrides():
    assert compose(["seed=0", "seed=1"])["seed"] == 1


@pytest.mark.parametrize("name", ["a[1].csv", "a{b}.csv", "#1.csv", "it's.csv", 'a"b.csv', "a(1).csv", "a b.csv"])
def test_paths_need_no_quotes(name):
    assert compose(["dataset=csv", "model=mlp", f"dataset.file={name}"])["dataset"]["file"] == name
    assert compose([f"results_dir={name}"])["results_dir"] == name


def test_a_folder_of_results_is_at_home_whoever_gives_it(monkeypatch):
    """In a file of settings, and in Python, ~/x was a folder called ~ in the current one."""
    monkeypatch.setenv("HOME", "/home/reader")
    assert compose(["results_dir=~/x"])["results_dir"] == "/home/reader/x"


def test_a_folder_of_results_that_is_there_may_have_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "$mine").mkdir()
    assert compose(["results_dir=$mine"])["results_dir"] == "$mine"
    assert compose(["results_dir=US$2/x"])["results_dir"] == "US$2/x"


@pytest.mark.parametrize("name", ["y[0]", "price (EUR)", "price(EUR)", "a{b}"])
def test_a_column_to_predict_needs_no_quotes(name):
    assert compose(["dataset=csv", "model=mlp", f"dataset.target={name}"])["dataset"]["target"] == name


def test_a_key_of_another_option_is_proposed_only_where_it_takes_the_value():
    """`model.width=[3]` was said to go with model=convpool, whose width is one number."""
    assert_refused(
        ["model=mlp", "model.width=[3]"], "key 'model.width' does not exist", "did you mean 'model.widths=[3]'?"
    )
    assert_refused(["model=mlp", "model.width=3"], "key 'model.width' does not exist", "model=convpool model.width=3")
