"""What an experiment says of its set-up, and what it sets: by key and as numbers that follow from keys."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from normexp.config.options import config_dir, groups, is_description, load_yaml, option, options
from normexp.evidence.stats import Printed
from normexp.experiments.experiment import Experiment
from normexp.experiments.load import content as content_of
from normexp.experiments.load import read, scales

NUMBER = r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?)(?![\w^]|[.,]\d)"
BATCHES = ("batch_size", "batch", "batches", "sizes")
# Words around a number -> the last part of the keys whose value it then has to be.
NAMED: Mapping[str, tuple[str, ...]] = {
    rf"batch size (?:of )?{NUMBER}": BATCHES,
    rf"[Bb]atches of {NUMBER}": BATCHES,
    rf"in batches of \d+ and of {NUMBER}": BATCHES,
    rf"(?<!of )(?<!the )\b{NUMBER} epochs": ("epochs",),
    rf"(?<!of )(?<!of the )(?<![\d,]){NUMBER} (?:updates|steps)\b": ("steps", "updates", "sequence"),
    rf"momentum (?:of )?{NUMBER}": ("momentum",),
    rf"weight decay (?:of )?{NUMBER}": ("weight_decay",),
    rf"\brates? (?:of )?{NUMBER}": ("lr", "rate", "rates"),
    rf"dropout (?:of )?{NUMBER}": ("dropout",),
    rf"\b{NUMBER} held-out": ("validation", "held_out"),
    rf"\b{NUMBER} (?:heads)": ("heads",),
    rf"(?:decoder|transformer) of {NUMBER} layers": ("layers",),
    rf"\bwidth {NUMBER}": ("width", "embedding"),
    rf"\b{NUMBER} seeds": ("seeds",),
}
CLASSES = {"digits": [8, 64, 10], "mnist": [28, 784, 10], "fashion_mnist": [28, 784, 10], "cifar10": [32, 3072, 10]}


@cache
def at(name: str, scale: str) -> Experiment:
    return read(name, scale)


def told(name: str, scale: str) -> list[str]:
    """Return what the pages of an experiment at a scale say of the set-up; of a preview what is its own."""
    experiment, content = at(name, scale), content_of(name)
    plain = [each for each, own in content["scales"].items() if not {"about", "here"} & set(own or ())]
    of = [each for each in plain if each != "smoke"] or scales(name)[-1:]  # whose set-up the paragraph is
    own = experiment.about if scale in of else experiment.about.removeprefix(content["about"])
    if scale == "smoke":
        texts = [own]
    else:
        texts = [experiment.title, own, experiment.summary]
        texts += [experiment.law.lesson, experiment.law.tolerance] if experiment.law else []
        texts += [text for each in experiment.figures for text in (each.title, each.caption, *each.labels.values())]
    return [" ".join(text.split()) for text in texts if text]


@cache
def values(name: str, scale: str) -> dict[str, set[float]]:
    """Return key -> the numbers that it has in some run at this scale, runs that choose among them."""
    experiment = at(name, scale)
    found: dict[str, set[float]] = {"seeds": {float(len(experiment.grid["seed"]))}}
    chosen = [experiment.select.common, experiment.select.search] if experiment.select else []
    for own in [*experiment.arms.values(), *experiment.refused.values()]:
        for given in ({}, *chosen):
            for key, value in with_defaults({**experiment.common, **own, **given}).items():
                found.setdefault(key, set()).update(numbers(value))
    for key, each in experiment.grid.items():
        found.setdefault(key, set()).update(numbers(each))
    return found


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a run with what the options set where it says nothing."""
    usual = {key: value for key, value in load_yaml(config_dir() / "config.yaml").items() if key != "defaults"}
    defaults = {next(iter(each)): next(iter(each.values())) for each in DEFAULTS}
    for group in groups():
        choice = given.get(group, defaults[group])
        there = option(group, choice) if choice in options(group) else {}
        usual |= {f"{group}.{key}": value for key, value in there.items()}
    if "steps" in given:
        usual["epochs"] = None
    return {key: value for key, value in {**usual, **given}.items() if not is_description(key.rpartition(".")[2])}


DEFAULTS = [each for each in load_yaml(config_dir() / "config.yaml")["defaults"] if isinstance(each, dict)]


def numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in a value, and how many a list has."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list | tuple):
        yield float(len(value))
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


@cache
def known(name: str, scale: str) -> set[float]:
    """Return the numbers that the set-up has, whatever the words: values, counts, shares, facts of the data."""
    experiment = at(name, scale)
    found = {number for each in values(name, scale).values() for number in each}
    found |= {1 / number for number in found if 0 < number < 1}
    found |= {float(count) for count in (len(experiment.arms), *map(len, experiment.grid.values()))}
    found |= set(printed(experiment))
    for figure in experiment.figures:
        found |= set(numbers(figure.where))
    datasets = {own.get("dataset", experiment.common.get("dataset", "digits")) for own in experiment.arms.values()}
    return found.union(*(map(float, CLASSES.get(dataset, [])) for dataset in datasets))


def printed(experiment: Experiment) -> Iterator[float]:
    for entry in [*experiment.published, *experiment.published_only]:
        if not getattr(entry, "said", False):
            yield Printed.of(entry.value).value


def misnamed(name: str, scale: str, text: str) -> Iterator[str]:
    """Yield the phrases that give a key another number than it has in any run."""
    for pattern, words in NAMED.items():
        keys = [key for key in values(name, scale) if key.rpartition(".")[2] in words]
        right = {number for key in keys for number in values(name, scale)[key]}
        for match in re.finditer(pattern, text):
            if right and value_of(match[1]) not in right:
                yield match.group()


def value_of(number: str) -> float:
    return float(number.replace(",", ""))
