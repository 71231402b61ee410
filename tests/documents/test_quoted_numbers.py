"""Every number that a document quotes from records is computed again; a number that nobody accounts for fails.

Pages that a script writes have tests of their own, that they are what it writes: see GENERATED.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from normexp.experiments.load import content
from tests.documents.evidence import TOP
from tests.documents.quotes import QUOTES, Quote
from tests.documents.settings import BY_HAND, SETTINGS

NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*\d|(?<![\w.,])\d(?![\w])")
NO_PROSE = (
    re.compile(r"```.*?```", re.DOTALL),
    re.compile(r"<!-- (table|claim|bench):.*?<!-- /\1 -->", re.DOTALL),
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"^ *\d+\. |(et al\.|& \w+) \d{4}", re.MULTILINE),  # the numbers of a list, the years of papers
    re.compile(r"^ *:+[{:].*$", re.MULTILINE),  # directives of the site
)
SIZES = re.compile(r"\b\d+ (test|training) examples|and \d+ more\b")  # of probes, of groups of options
EXPERIMENTS = sorted(path.stem for path in (TOP / "configs" / "experiment").glob("*.yaml"))
DEVIATIONS = [f"{name}/deviations" for name in EXPERIMENTS]
GENERATED = {
    "campaign": "test_campaign.py",
    "convert": "test_convert_networks.py",
    "drift": "test_drift_page.py",
    "experiments": "test_own_experiment.py",
    "laws": "test_laws_page.py",
    "mutants": "test_check_mutations.py",
    "schemes": "test_check_command.py",
    "sources": "test_generated.py",
}
WRITTEN = sorted(page.name for page in (TOP / "docs").glob("*.md") if page.stem not in GENERATED)
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{name}" for name in WRITTEN)]


@cache
def text_of(document: str) -> str:
    """Return a page, the findings of an experiment at all its scales, or its deviations, on one line."""
    if document.endswith(".md"):
        text = (TOP / document).read_text(encoding="utf-8")
        for pattern in NO_PROSE:
            text = pattern.sub("]" if pattern.pattern.startswith(r"\]") else "", text)
    else:
        experiment, _, key = document.partition("/")
        text = " ".join(found(experiment, key or "findings"))
    return " ".join(text.split())


def found(experiment: str, key: str) -> list[str]:
    said = content(experiment)
    return [text for each in (said, *said["scales"].values()) for text in (each or {}).get(key, [])]


def configured(value: Any) -> Iterator[float]:
    """Yield every number that an experiment sets, but seeds and what it says in words."""
    if isinstance(value, dict):
        words = ("seed", "about", "caption", "deviations", "findings", "minutes", "published", "claims", "underpowered")
        for key, each in value.items():
            yield from () if key in words else configured(each)
    elif isinstance(value, list):
        for each in value:
            yield from configured(each)
    elif isinstance(value, int | float):
        yield float(value)


def set_there(document: str, number: str) -> bool:
    """Tell whether a number of a deviation is one of the set-up that is run."""
    name, _, key = document.partition("/")
    return key == "deviations" and float(number.replace(",", "")) in configured(content(name))


def unaccounted(document: str, text: str) -> list[tuple[str, str]]:
    """Return the numbers of a text that are neither quoted nor declared to be settings, with what stands around."""
    text = SIZES.sub("", text)
    for phrase in [*(quote.sentence for quote in QUOTES if quote.document == document), *settings(document)]:
        text = text.replace(phrase, "")
    return [
        (match.group(), text[max(0, match.start() - 30) : match.end() + 20])
        for match in NUMBER.finditer(text)
        if not set_there(document, match.group())
    ]


def settings(document: str) -> list[str]:
    return sorted([*SETTINGS["*"], *SETTINGS.get(document, ())], key=len, reverse=True)


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.document}-{quote.text[:30]}")
def test_a_quoted_number_is_that_of_the_records(quote: Quote) -> None:
    assert quote.sentence in text_of(quote.document)


@pytest.mark.parametrize("document", [*PAGES, *EXPERIMENTS, *DEVIATIONS])
def test_every_number_is_quoted_or_declared(document: str) -> None:
    left = unaccounted(document, text_of(document))
    assert " ".join(number for number, _ in left) == BY_HAND.get(document, ""), left


@pytest.mark.parametrize("document", [*PAGES, *EXPERIMENTS, *DEVIATIONS])
def test_what_is_declared_is_there(document: str) -> None:
    assert [phrase for phrase in SETTINGS.get(document, ()) if phrase not in text_of(document)] == []


@pytest.mark.parametrize("document", sorted({quote.document for quote in QUOTES}))
def test_one_changed_digit_is_found(document: str) -> None:
    text = text_of(document)
    for quote in (quote for quote in QUOTES if quote.document == document):
        assert quote.sentence in text
        for match in NUMBER.finditer(quote.sentence):
            digit = str((int(match.group()[-1]) + 1) % 10)
            changed = quote.sentence[: match.end() - 1] + digit + quote.sentence[match.end() :]
            left = unaccounted(document, text.replace(quote.sentence, changed))
            assert " ".join(number for number, _ in left) != BY_HAND.get(document, ""), changed


def test_a_number_that_nobody_accounts_for_is_found() -> None:
    assert unaccounted("README.md", f"{text_of('README.md')} It is 12.3 points better.") != []


def test_documents_are_those_there_are() -> None:
    known = {*PAGES, *EXPERIMENTS, *DEVIATIONS, "*"}
    assert {quote.document for quote in QUOTES} | set(SETTINGS) | set(BY_HAND) <= known
    assert all((TOP / "docs" / f"{page}.md").exists() for page in GENERATED)
    tests = {path.name: path.read_text(encoding="utf-8") for path in (TOP / "tests").rglob("test_*.py")}
    assert [page for page, test in GENERATED.items() if f"{page}.md" not in tests[test]] == []
