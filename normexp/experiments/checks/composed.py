"""The configuration of every run of an experiment; what of it cannot work is named with its line in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from normexp.config import Config, compose
from normexp.errors import UserError
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment, Point

_KEY = re.compile(r"(?:key ')?([\w.]+)['=]")  # begins an error about a key, or a value


def composed(
    experiment: Experiment, document: Document, arm: str, point: Point, chosen: Mapping[str, Any] | None = None
) -> Config:
    """Compose one run as `Experiment.config` does. Raises UserError with file, line and arm."""
    try:
        return compose(experiment.overrides(arm, point, chosen))
    except UserError as error:
        searched = {} if chosen is None else {**dict(point), **chosen}
        place = document.place(*_keys(experiment, document, arm, str(error), searched))
        raise UserError(f"{place}, arm {arm!r}: {error}") from None


def check_refused(experiment: Experiment, document: Document, arm: str) -> None:
    """Raise UserError, with file and line, for a refused arm that the program would run, or that is misspelt."""
    try:
        experiment.refusal(arm)
    except UserError as error:
        raise UserError(f"{document.place('refused', arm)}: {error}") from None


def _keys(
    experiment: Experiment, document: Document, arm: str, error: str, searched: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return where the file sets the key that an error is about; the arm where that is not known."""
    key = found[1] if (found := _KEY.match(error)) else ""
    parts = [("grid",), *([("select", "search"), ("select", "common")] if key in searched else []), ("arms", arm)]
    scale = ("scales", experiment.scale)
    places = ((*top, *part, key) for part in (*parts, ("common",)) for top in (scale, ()))  # what wins comes first
    return next((place for place in places if document.has(*place)), ("arms", arm))
