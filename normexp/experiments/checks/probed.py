"""What claims and figures ask of a probe, checked against what it measures of the networks as they begin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from normexp.errors import UserError, unknown
from normexp.evidence.curves import PROBE
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment
from normexp.experiments.figure import Figure
from normexp.experiments.figure_kinds import Multiples, Percentiles

ALL = "all"  # layers of a figure
Measured = Mapping[str, Sequence[str]]  # arm -> `probe/LAYER/STATISTIC`, of its runs together


def asks_probe(experiment: Experiment) -> bool:
    """Tell whether a claim or a figure reads what a probe measures."""
    figures = experiment.figures
    named = (name for spec in (*experiment.claims, *figures) for name in _metrics(spec))
    return any(named) or any(isinstance(figure, Multiples | Percentiles) for figure in figures)


def check_probed(experiment: Experiment, document: Document, measured: Measured) -> None:
    """Raise UserError for what no probe measures: of a claim in one of its arms, of a figure in all of its arms.

    Args:
        measured: of every arm of which it is known.
    """
    for i, claim in enumerate(experiment.claims):
        for arm in dict.fromkeys(place.arm for place in claim.places() if place.arm in measured):
            where = f"{document.at('claims', i)} {claim.text!r}: arm {arm!r}"
            _check(where, "metric", _metrics(claim), measured[arm])
    for i, figure in enumerate(experiment.figures):
        arms = figure.arms or list(experiment.arms)
        if all(arm in measured for arm in arms):
            there = list(dict.fromkeys(name for arm in arms for name in measured[arm]))
            _check_figure(f"{document.at('figures', i)} {figure.name!r}", figure, there)


def _check_figure(where: str, figure: Figure, there: Sequence[str]) -> None:
    _check(where, "metric", _metrics(figure), there)
    parts = [name.removeprefix(PROBE).rpartition("/") for name in there]
    if isinstance(figure, Multiples):
        _check(where, "statistic", figure.statistic, list(dict.fromkeys(statistic for *_, statistic in parts)))
        _check(where, "layer", figure.layers, [ALL, *_layers(parts, figure.statistic)])
    elif isinstance(figure, Percentiles):
        percentiles = [statistic for *_, statistic in parts if re.fullmatch(r"p\d[\d.e+-]*", statistic)]
        _check(where, "layer", [figure.layer], _layers(parts, percentiles))


def _layers(parts: Iterable[tuple[str, str, str]], statistics: Sequence[str]) -> list[str]:
    """Return the layers of which one of these statistics is measured."""
    return list(dict.fromkeys(layer for layer, _, statistic in parts if statistic in statistics))


def _check(where: str, kind: str, named: Iterable[str], there: Sequence[str]) -> None:
    for name in named:
        if name not in there:
            raise _no_probe(where, kind, name) if not there else unknown(f"{where}: {kind}", name, there)


def _no_probe(where: str, kind: str, name: str) -> UserError:
    return UserError(f"{where}: {kind} {name!r} does not exist: no probe measures anything in its runs; give probe=")


def _metrics(spec: object) -> Iterator[str]:
    """Yield what a claim or a figure reads off probes as metrics."""
    for key in ("metric", "metrics", "formula", "remainder", "rounding"):
        given = getattr(spec, key, None)
        for name in given if isinstance(given, list) else [given]:
            if isinstance(name, str) and name.startswith(PROBE):
                yield name
