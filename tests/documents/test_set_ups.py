"""What an experiment says of its set-up (title, set-up, question, captions) is what its runs are given."""

import re

import pytest

from normexp.experiments.load import names, scales
from tests.documents.set_ups import at, known, misnamed, told, value_of
from tests.documents.settings import SET_UPS, SPOKEN
from tests.documents.test_quoted_numbers import NUMBER

PLACES = [(name, scale) for name in names() for scale in scales(name)]
NO_NUMBER = re.compile(r"CIFAR-10|GPT-2|ResNet-\d+|(et al\.|& \w+) \d{4}|`[^`]*`|float\d\d|[Ff]igures? \d+|task \d")


def left(name: str, text: str, numbers: set[float]) -> list[str]:
    """Return the numbers of a text that the set-up does not have."""
    found = NUMBER.findall(NO_NUMBER.sub("", text))
    return [number for number in found if value_of(number) not in numbers]


@pytest.mark.parametrize(("name", "scale"), PLACES)
def test_a_number_with_a_name_is_that_of_the_key(name: str, scale: str) -> None:
    found = {phrase for text in told(name, scale) for phrase in misnamed(name, scale, text)}
    assert found <= set(SPOKEN.get(name, ()))


@pytest.mark.parametrize("name", names())
def test_every_number_is_set_or_declared(name: str) -> None:
    found = [
        " ".join(left(name, text, known(name, scale)))
        for scale in scales(name)
        for text in dict.fromkeys(told(name, scale))
    ]
    assert " ".join(filter(None, found)) == SET_UPS.get(name, "")


def test_a_wrong_number_is_found() -> None:
    name, scale = "which_norm", "desk"
    (about,) = (text for text in told(name, scale) if "in batches of 128" in text)
    assert list(misnamed(name, scale, about)) == []
    assert list(misnamed(name, scale, about.replace("batches of 128", "batches of 64"))) == ["batches of 64"]
    assert list(misnamed(name, scale, about.replace("decay 0.0005", "decay 0.005"))) == ["weight decay 0.005"]
    assert left(name, about, known(name, scale)) == ["45,000"]  # as SET_UPS has it
    assert left(name, about.replace("20 layers of He", "21 layers of He"), known(name, scale)) == ["21", "45,000"]


def test_declared_are_experiments() -> None:
    assert {*SET_UPS, *SPOKEN} <= set(names())
    said = {name: [text for scale in scales(name) for text in told(name, scale)] for name in SPOKEN}
    assert all(any(phrase in text for text in said[name]) for name in SPOKEN for phrase in SPOKEN[name])


SPLITS = {
    "train": r"\btraining (loss|error|accurac)",
    "validation": r"\bvalidation\b",
    "test": r"\btest (loss|error|accurac)",
}


def other_split(metric: str, words: str) -> list[str]:
    """Return the splits of which the words say a published number is, where its metric is of another one."""
    own = metric.partition("/")[0]
    return [split for split, pattern in SPLITS.items() if own in SPLITS and own != split and re.search(pattern, words)]


@pytest.mark.parametrize("name", names())
def test_a_published_number_stands_beside_ours_of_the_same_split(name: str) -> None:
    for scale in scales(name):
        experiment = at(name, scale)
        printed = [(each.metric, each.place) for each in (*experiment.published, *experiment.published_only)]
        printed += [(each.metric, each.caption) for each in experiment.figures if getattr(each, "published", None)]
        assert [words for metric, words in printed if other_split(metric, words)] == []


def test_another_split_is_found() -> None:
    assert other_split("train/loss", "figure of the gammas, digitised, validation") == ["validation"]
    assert other_split("test/error", "table 1, row 2") == other_split("test/error", "test errors, table 1") == []
