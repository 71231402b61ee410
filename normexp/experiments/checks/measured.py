"""Figures of what no run will measure: a probe that none has, a table that none writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from normexp.config import Config
from normexp.config.options import options
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment
from normexp.experiments.figure import Figure
from normexp.experiments.figure_kinds import Contour, Lines, Multiples, Percentiles
from normexp.records import METRICS, PROBES, TIMING

BY_TRAINING = (METRICS, PROBES, TIMING)  # tables; further ones are a study's
PERCENTILES = "percentiles"


def check_measured(experiment: Experiment, configs: Mapping[str, Sequence[Config]], document: Document) -> None:
    """Raise UserError for a figure of a probe or a table that none of its arms has.

    Args:
        configs: arm -> those of its runs.
    """
    for i, figure in enumerate(experiment.figures):
        own = [config for arm in figure.arms or experiment.arms for config in configs[arm]]
        if lack := _lack(figure, own):
            raise document.error(lack, "figures", i, "kind")


def _lack(figure: Figure, configs: Sequence[Config]) -> str:
    """Return why there will be nothing to draw; nothing where there will be something."""
    probes = {name for config in configs for name in _probes(config)}
    own = probes - set(options("probe"))  # of somebody's own: what it measures is not known
    if isinstance(figure, Percentiles) and not own and PERCENTILES not in probes:
        return "no run of its arms measures percentiles; set probe=percentiles under common"
    if isinstance(figure, Multiples) and probes == {"none"}:
        return (
            f"no run of its arms has a probe, which would measure {', '.join(figure.statistic)}; set one under common"
        )
    if isinstance(figure, Lines | Contour) and all(config.choices["study"] == "none" for config in configs):
        name = f"{figure.table.removesuffix('.csv')}.csv"
        return "" if name in BY_TRAINING else f"runs that train write no {name}, which is a study's to write"
    return ""


def _probes(config: Config) -> list[str]:
    chosen = config.choices["probe"]
    return list(config["probe"]["of"]) if chosen == "several" else [chosen]
