"""The numbers in a claim's text are those that it is judged by, or its source's, the paper's or the set-up's."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import kind_at
from normexp.evidence.claims.fields import Place
from normexp.evidence.claims.region import Region
from normexp.evidence.claims.result import CONTRADICTED, HOLDS
from normexp.evidence.stats import Printed
from normexp.experiments.experiment import Experiment
from normexp.experiments.load import names, scales
from tests.documents.set_ups import at, misnamed, numbers, value_of
from tests.documents.settings import CLAIMS
from tests.documents.test_quoted_numbers import NUMBER
from tests.documents.test_set_ups import NO_NUMBER

TOP = Path(__file__).parents[2]
PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
SCIENTIFIC = re.compile(r"\b1e-(\d+)\b")
RESULT = re.compile(r"\s?(%|points?\b|percent\b|times\b|nats\b|decades?\b)")  # behind a number that is no setting
SPELLED = {"half a": 0.5, "a": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "five": 5.0, "ten": 10.0}
NAMED = re.compile(r"([A-Za-z]+)[ =](\d+(?:\.\d+)?)\b")
MARGIN = re.compile(rf"within ({'|'.join(SPELLED)}) (points?|percent|decades?)\b")
WORD = re.compile(r"\b[A-Za-z][A-Za-z-]+\d+(?![\d.])")  # BN-x30, beta1
PLACE = re.compile(r"(pages?|figures?|tables?|sections?|slides?|equations?|parts?|arXiv:) ?[\d.]+", re.IGNORECASE)


def own(claim: Claim) -> set[float]:
    """Return the numbers that a claim is judged by, as a text may say them: as they are, and in percent."""
    found = {number for name, value in claim if name not in ("text", "source") for number in plain(value)}
    return found | {100 * number for number in found}


def plain(value: Any) -> Iterator[float]:
    """Yield the numbers of a field: of a region those it is written with, its half width as a share, and as changes."""
    if isinstance(value, Region):
        middle, half = (value.low + value.high) / 2, (value.high - value.low) / 2
        for number in (*plain(value.text), *([abs(half / middle)] if middle and isfinite(half) else [])):
            yield from (number, abs(number - 1) if 0.5 < number < 2 else number)
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


def set_by(experiment: Experiment, claim: Claim) -> set[float]:
    """Return the numbers that the runs are given: by all arms, and by axes where the claim looks at no one place."""
    fixed = {"seed", *(axis for axis, _ in claim.of.point)}
    axes = [each for key, values in experiment.grid.items() if key not in fixed for each in values]
    return {abs(number) for number in numbers({"": [experiment.common, *experiment.arms.values(), *axes]})}


def misspelt(experiment: Experiment, claim: Claim, text: str) -> list[str]:
    """Return the words with a digit that neither an arm, the claim, its source nor the set-up has."""
    there = f"{dict(claim) | {'text': None}} {experiment.name} {experiment.arms} {experiment.common}".lower()
    return [word for word in WORD.findall(text) if word.lower() not in there]


def in_formula(text: str, number: re.Match[str]) -> bool:
    """Tell whether a number stands beside a sign of arithmetic: 2 / curvature, sqrt(2 rate), pi - 1, width^(-1/2)."""
    before, after = text[: number.start()], text[number.end() :]
    return bool(re.search(r"[/^|+]\s?$|\w(\^)?\($| - $|\w-$", before) or re.match(r"\s?[/^|+]|\)\^| - ", after))


def left(experiment: Experiment, claim: Claim) -> list[str]:
    """Return the numbers of a claim's text that nothing accounts for.

    A setting of the runs does not account for one with a unit, and nothing for one in a formula.
    """
    text = NO_NUMBER.sub("", " ".join(claim.text.split()))
    judged = own(claim) | set(plain(PLACE.sub("", claim.source))) | set(of_paper(experiment))
    set_there = judged | set_by(experiment, claim)
    small = [match.group() for match in SCIENTIFIC.finditer(text) if not {float(match[1]), float(match[0])} & judged]
    text = SCIENTIFIC.sub("", text)
    found = [
        match.group()
        for match in NUMBER.finditer(text)
        if in_formula(text, match)
        or not is_one_of(match.group(), judged if RESULT.match(text, match.end()) else set_there)
    ]
    phrases = misnamed(experiment.name, experiment.scale, text)
    named = [phrase for phrase in phrases if not set(plain(phrase)) & set(plain(getattr(claim, "at", "")))]
    named += [*named_otherwise(claim, text), *misspelt(experiment, claim, text)]
    spelled = [match.group() for match in MARGIN.finditer(text) if SPELLED[match[1]] not in own(claim)]
    return [*small, *found, *named, *spelled]


def all_claims(name: str) -> dict[str, tuple[Experiment, Claim]]:
    """Return {text: claim} of an experiment, with the largest scale that has it."""
    return {claim.text: (at(name, scale), claim) for scale in scales(name) for claim in at(name, scale).claims}


@pytest.mark.parametrize("name", names())
def test_every_number_of_a_claim_is_accounted_for(name: str) -> None:
    found = [left(experiment, claim) for experiment, claim in all_claims(name).values()]
    assert " ".join(number for each in found for number in each) == CLAIMS.get(name, "")


OURS = re.compile(r"(ours|our own|our notes|beyond the)\b")  # what a source begins with where there is none


def is_ours(claim: Claim) -> bool:
    return bool(OURS.match(claim.source)) or "(ours" in claim.text


@pytest.mark.parametrize("name", names())
def test_a_claim_that_says_it_is_ours_is_counted_so(name: str) -> None:
    counted = {text: kind_at(claim, experiment.scale) for text, (experiment, claim) in all_claims(name).items()
               if is_ours(claim)}  # fmt: skip
    assert set(counted.values()) <= {"own", "exact"}, counted


def test_no_verdict_but_on_arithmetic_rests_on_one_run() -> None:
    judged = list((TOP / "results").glob("*/*/claims.json"))
    assert judged
    for path in judged:
        decided = [claim for claim in json.loads(path.read_text())["claims"]
                   if claim["n"] == 1 and claim["verdict"] in (HOLDS, CONTRADICTED)]  # fmt: skip
        assert {claim["kind"] for claim in decided} <= {"exact"}, path


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
        ("ioffe2015_table", "No network is ahead of BN-x30", "BN-x30", "BN-x31", ["BN-x31"]),
        ("ba2016_figure6", "Batch normalization suffers", "4 against", "8 against", ["8"]),
        ("rezero_table", "ReZero's training loss", "0.52", "0.62", ["0.62"]),
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


def test_nine_of_ten_changed_digits_are_noticed() -> None:
    """Not those that make another number of the claim, or of its source: 0 and 1, the number of an exercise."""
    noticed = []
    for name in names():
        for text, (experiment, claim) in all_claims(name).items():
            for digit in re.finditer(r"\d", text):
                other = text[: digit.start()] + str((int(digit.group()) + 1) % 10) + text[digit.end() :]
                changed = claim.model_copy(update={"text": other})
                noticed.append(left(experiment, changed) != left(experiment, claim))
    assert sum(noticed) >= 0.9 * len(noticed) > 0


def test_nothing_is_quoted_from_memory():
    """A place in a paper that nobody looked up is not printed: the claim says what was read, or that it is derived."""
    pages = [*TOP.glob("configs/experiment/*.yaml"), *TOP.glob("results/*/*/*.md"), *TOP.glob("normexp/**/*.py")]
    pages += [TOP / "README.md", TOP / "results" / "claims.md", *TOP.glob("docs/*.md")]
    words = ("from memory", "not checked against the paper")
    assert [path for path in pages if any(each in path.read_text().lower() for each in words)] == []


def test_the_page_of_experiments_names_every_one() -> None:
    page = (TOP / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert [name for name in names() if f"`{name}`" not in page] == []
