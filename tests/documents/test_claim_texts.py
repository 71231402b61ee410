"""The numbers in a claim's text are those that it is judged by, or its source's, the paper's or the set-up's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite, isinf
from typing import Any

import pytest

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.fields import Place
from normexp.evidence.claims.region import Region
from normexp.evidence.stats import Printed
from normexp.experiments.experiment import Experiment
from normexp.experiments.load import names, scales
from tests.documents.set_ups import at, known, misnamed, value_of
from tests.documents.settings import CLAIMS
from tests.documents.test_quoted_numbers import NUMBER
from tests.documents.test_set_ups import NO_NUMBER

PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
SCIENTIFIC = re.compile(r"\b1e-(\d+)\b")
RESULT = re.compile(r"\s?(%|points?\b|percent\b|times\b|nats\b|decades?\b)")  # behind a number that is no setting
SPELLED = {"half a": 0.5, "a": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "five": 5.0, "ten": 10.0}
NAMED = re.compile(r"([A-Za-z]+)[ =](\d+(?:\.\d+)?)\b")
MARGIN = re.compile(rf"within ({'|'.join(SPELLED)}) (points?|percent|decades?)\b")


def own(claim: Claim) -> set[float]:
    """Return the numbers that a claim is judged by, as a text may say them: as they are, and in percent."""
    found = {number for name, value in claim if name not in ("text", "source") for number in plain(value)}
    return found | {100 * number for number in found}


def plain(value: Any) -> Iterator[float]:
    """Yield the numbers of a field: of a region its ends, its middle, its half width, and all in shares and changes."""
    if isinstance(value, Region):
        ends = [end for end in (value.low, value.high) if not isinf(end)]
        middle, half = sum(ends) / 2, abs(ends[-1] - ends[0]) / 2
        for number in (*ends, *([middle, half, half / middle if middle else half] if len(ends) == 2 else [])):
            yield from (abs(number), abs(number - 1) if 0.5 < number < 2 else abs(number))
    elif isinstance(value, Place):
        yield from plain([value.arm, *(each for pair in value.point for each in pair)])
    elif isinstance(value, dict | list | tuple):
        for each in (*value, *(value.values() if isinstance(value, dict) else ())):
            yield from plain(each)
    elif isinstance(value, str):
        yield from (abs(float(number)) for number in PLAIN.findall(value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield abs(float(value))


def of_paper(experiment: Experiment) -> Iterator[float]:
    """Yield what the paper prints, of shares in percent."""
    for entry in (*experiment.published, *experiment.published_only):
        if not getattr(entry, "said", False):
            yield 100 * Printed.of(getattr(entry, "printed", entry.value)).value


def named_otherwise(claim: Claim, text: str) -> Iterator[str]:
    """Yield `gamma 0.2` where the claim's arms have a gamma, and another one."""
    arms = NAMED.findall(" ".join(str(value) for name, value in claim if name in ("of", "than", "minus")))
    for word, number in NAMED.findall(text):
        there = {value_of(each) for other, each in arms if other.lower() == word.lower()}
        if there and value_of(number) not in there:
            yield f"{word} {number}"


def is_one_of(number: str, numbers: set[float]) -> bool:
    """Tell whether a number is one of these, rounded as it is written."""
    rounding = 0.5 * 10.0 ** -len(number.partition(".")[2]) if number.partition(".")[2][1:] else 1e-9
    there = filter(isfinite, numbers)  # `never` is none
    return any(abs(value_of(number) - each) <= max(rounding, 1e-9 * each) for each in there)


def left(experiment: Experiment, claim: Claim) -> list[str]:
    """Return the numbers of a claim's text that nothing accounts for; a setting of the runs is none with a unit."""
    text = NO_NUMBER.sub("", " ".join(claim.text.split()))
    judged = own(claim) | set(plain(claim.source)) | set(of_paper(experiment))
    set_there = judged | known(experiment.name, experiment.scale)
    small = [match.group() for match in SCIENTIFIC.finditer(text) if not {float(match[1]), float(match[0])} & judged]
    text = SCIENTIFIC.sub("", text)
    found = [
        match.group()
        for match in NUMBER.finditer(text)
        if not is_one_of(match.group(), judged if RESULT.match(text, match.end()) else set_there)
    ]
    phrases = misnamed(experiment.name, experiment.scale, text)
    named = [phrase for phrase in phrases if not set(plain(phrase)) & set(plain(getattr(claim, "at", "")))]
    named += named_otherwise(claim, text)
    spelled = [match.group() for match in MARGIN.finditer(text) if SPELLED[match[1]] not in own(claim)]
    return [*small, *found, *named, *spelled]


def all_claims(name: str) -> dict[str, tuple[Experiment, Claim]]:
    """Return {text: claim} of an experiment, with the largest scale that has it."""
    return {claim.text: (at(name, scale), claim) for scale in scales(name) for claim in at(name, scale).claims}


@pytest.mark.parametrize("name", names())
def test_every_number_of_a_claim_is_accounted_for(name: str) -> None:
    found = [left(experiment, claim) for experiment, claim in all_claims(name).values()]
    assert " ".join(number for each in found for number in each) == CLAIMS.get(name, "")


def test_declared_are_experiments() -> None:
    assert set(CLAIMS) <= set(names())


def claim_of(name: str, beginning: str) -> tuple[Experiment, Claim]:
    (found,) = (each for text, each in all_claims(name).items() if text.startswith(beginning))
    return found


@pytest.mark.parametrize(
    ("name", "beginning", "there", "other", "noticed"),
    [
        ("arpit2016_table", "Batch normalization has a lower test error than NIN", "8.81", "8.82", ["8.82"]),
        ("ioffe2015_table", "BN-x30 passes", "74.8", "74.9", ["74.9"]),
        ("arpit2016_batch_size_1", "At batch size 1 plain SGD", "size 1", "size 2", ["batch size 2"]),
        ("arpit2016_batch_size_1", "At batch size 1 plain SGD", "two points", "three points", ["within three points"]),
        ("dynamic_tanh_start", "Larger initial weights let dynamic tanh begin", "0.3", "0.4", ["0.4"]),
        ("cooijmans2017_gamma_training", "Gamma 0.3", "Gamma 0.3", "Gamma 0.7", ["Gamma 0.7"]),
        ("cooijmans2017_gamma", "With gamma 0.6 it ends near", "1e-22", "1e-23", ["1e-23"]),
        ("digits_five_schemes", "Training with batch normalization reaches 90 %", "90", "91", ["91"]),
        ("qk_norm_rates", "At a low rate", "0.02", "0.03", ["0.03"]),
        ("normprop_jacobian", "The singular values of J are near 1.2 (the largest", "1.2", "1.3", ["1.3"]),
    ],
)
def test_another_number_is_found(name: str, beginning: str, there: str, other: str, noticed: list[str]) -> None:
    experiment, claim = claim_of(name, beginning)
    declared = left(experiment, claim)
    assert there in claim.text
    changed = claim.model_copy(update={"text": claim.text.replace(there, other)})
    assert sorted(left(experiment, changed)) == sorted([*declared, *noticed])


def test_another_region_is_found() -> None:
    experiment, claim = claim_of("ba2016_figure6", "Layer normalization is robust to the batch size")
    assert left(experiment, claim) == []
    wider = replace(claim.region, low=-0.05, high=0.05, text="within 0.05 of 0")
    assert left(experiment, claim.model_copy(update={"region": wider})) == ["within half a point"]
