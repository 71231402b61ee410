"""What is no YAML: the line, what is wrong with it, and how it was probably meant."""

from __future__ import annotations

import re

import yaml

from normexp.errors import UserError, did_you_mean
from normexp.experiments.document import Document
from normexp.records.parsing import tab_hint

BARE_REGION = re.compile(r"[\s-]*in:\s*(>.*?)\s*(#.*)?")  # to YAML, `>` begins a text of several lines


def no_yaml(document: Document, error: yaml.YAMLError) -> UserError:
    """Return the error for the file of an experiment that cannot be parsed."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return document.error(f"is not YAML ({' '.join(str(error).split())})")
    mark = error.problem_mark
    line = document.text.splitlines()[mark.line : mark.line + 1]
    place = f"experiment {document.name} ({document.path}:{mark.line + 1})"
    return UserError(f"{place}: is not YAML: {error.problem}{_meant(*line) or tab_hint(document.text, mark.line)}")


def _meant(line: str = "") -> str:
    if bare := BARE_REGION.fullmatch(line):
        return did_you_mean(f'in: "{bare[1]}"')
    return ""
