"""A study gets only what it reads: the rest is refused, and what its option says of that is what it does."""

from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import pytest
import torch
from one_line import assert_refused

from normexp.config import compose, option, options
from normexp.config.instantiate import instantiate
from normexp.config.study_rules import groups_read
from normexp.experiments.load import load, names, scales
from normexp.seeding import seed_all, stream
from normexp.studies.base import StudyContext

STUDIES = [name for name in options("study") if name != "none"]
BY_THEMSELVES = [name for name in STUDIES if not {"network", "training"} & set(option("study", name)["_reads_"])]

REFUSED = {
    "a scheme": (["study=rezero", "norm=layer"], "norm=layer", "it reads dataset, inputs, seed alone; leave it out"),
    "a scheme's key": (["study=update_noise", "norm=batch", "optim.lr=1"], "optim.lr=1.0", "leave it out"),
    "a length": (["study=deep_chain", "steps=5"], "steps=5", "it reads norm, seed alone"),
    "a seed": (["study=batch_layer_example", "seed=1"], "seed=1", "it reads nothing else"),
    "a part of a scheme": (["study=depth", "init=he", "dataset=cifar10"], "dataset=cifar10", "leave it out"),
    "a probe": (["study=train_and_test", "probe=moments"], "probe=moments", "leave it out"),
    "a data set of one's own": (
        ["study=deep_chain", "dataset._target_=mine.Data", "plugins=[mine]"],
        "dataset._target_=mine.Data",
        "leave it out",
    ),
}


@pytest.mark.parametrize(("overrides", "named", "way_out"), REFUSED.values(), ids=REFUSED)
def test_what_a_study_does_not_read_is_refused(overrides, named, way_out):
    assert_refused(overrides, f"{named} with study={overrides[0].partition('=')[2]}, which does nothing", way_out)


def test_where_it_computes_is_no_business_of_a_study():
    compose(["study=batch_layer_example", "threads=2", "device=cpu", "results_dir=x", "logger=[tensorboard]"])


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_says_what_it_reads(name):
    assert "_reads_" in option("study", name)


class Watched(dict):
    """A configuration's values, and which of them somebody asked for."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = set()

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)


@cache
def experiments():
    """Return study -> the experiments at their smallest scale that measure it."""
    found = {}
    for name in names():
        scale = "smoke" if "smoke" in scales(name) else scales(name)[-1]
        experiment = load(name, scale)
        study = experiment.config(next(iter(experiment.arms)), experiment.points()[0]).choices["study"]
        found.setdefault(study, []).append(experiment)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_a_study_reads_what_its_option_says_and_nothing_else(name):
    said, asked = set(groups_read(option("study", name))), set()
    for experiment in experiments()[name]:
        for arm in list(experiment.arms)[:2]:
            asked |= read_by(experiment.config(arm, experiment.points()[0])) - {"plugins", "study"}
    assert asked <= said
    needed = {"dataset", "inputs", "model"}  # one may be read, and the others have to fit it
    assert said - asked <= (needed if asked & needed else set())


def read_by(config):
    values = Watched(config.values)
    study = instantiate(config["study"])
    torch.set_num_threads(1)
    seed_all(stream(config["seed"], "study"))
    with ExitStack() as process:
        study.measure(StudyContext(replace(config, values=values), process))
    return values.asked
