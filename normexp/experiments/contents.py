"""What an experiment's data are, where the user brings them: their content, wherever the files lie."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from normexp.config.identity import PATH_KEYS
from normexp.data.loading import content_of
from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, Point, product


def contents_of_own(experiment: Experiment) -> dict[str, list[str]]:
    """Return {data set: sha256 of what the user brings, in the order of arms and points}, without those not here."""
    found: dict[str, list[str]] = {}
    for name, arm, point in _of_own(experiment):
        found.setdefault(name, []).append(_content(experiment, arm, point))
    return {name: list(dict.fromkeys(contents)) for name, contents in found.items() if all(contents)}


def _of_own(experiment: Experiment) -> Iterator[tuple[str, str, Point]]:
    """Yield data set, arm and point of every setting of data that the user may bring: files, or a class of one's own.

    One cell has each of them.
    """
    seen: list[dict[str, object]] = []
    points = product({**experiment.grid, "seed": experiment.grid["seed"][:1]})
    for arm, point in itertools.product(experiment.arms, points):
        settings = experiment.settings(arm, point)
        data = {key: value for key, value in settings.items() if key.partition(".")[0] == "dataset"}
        name = str(data.get("dataset", ""))
        if data not in seen and ("." in name or any(data.get(key) for key in PATH_KEYS)):
            seen.append(data)
            yield name, arm, point


def _content(experiment: Experiment, arm: str, point: Point) -> str:
    """Return the sha256 of the user's own data; nothing where they are not here, or there are none."""
    try:
        return content_of(experiment.config(arm, point))
    except UserError:
        return ""
