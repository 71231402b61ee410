"""An experiment's claims, judged on its records, and claims.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from normexp.config.options import said_by
from normexp.evidence.claims import NOT_YET, Claim, Verdict, entry, judge
from normexp.evidence.claims.check import check_names
from normexp.evidence.claims.units import UNNAMED, Named
from normexp.experiments.command import command
from normexp.experiments.experiment import Experiment
from normexp.experiments.freeze import Change
from normexp.records import plain_json
from normexp.report.frames.measured import Measured


def judged(experiment: Experiment, measured: Measured) -> list[tuple[Claim, Verdict]]:
    """Check and judge the experiment's claims together; none before all runs of the grid, or of a look, are there."""
    if measured.waiting:
        return [(claim, Verdict(NOT_YET, measured.waiting)) for claim in experiment.claims]
    known = [*measured.metrics, *measured.probe_metrics]
    claims = [check_names(claim, list(experiment.arms), known, experiment.axes) for claim in experiment.claims]
    named = _named(experiment.common.get("study", "none"))
    verdicts = judge(claims, measured.curves, experiment.scale, experiment.design, named)
    return list(zip(claims, verdicts, strict=True))


def _named(study: str) -> Named:
    """Return what a study calls what it measures."""
    units, step = (said_by("study", study, key) for key in ("_units_", "_step_"))
    return Named(units or {}, step or UNNAMED.step)


def claim_entries(experiment: Experiment, measured: Measured, changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return every claim with its verdict and evidence, as claims.json has it.

    Args:
        changes: what was declared otherwise when the runs began.
    """
    return [
        {
            **entry(claim, verdict, experiment.paper, experiment.scale),
            "changed": [str(change) for change in changes if change.what == "claim" and change.name == claim.text],
        }
        for claim, verdict in judged(experiment, measured)
    ]


def claims_text(experiment: Experiment, claims: Sequence[Mapping[str, Any]], changes: Sequence[Change]) -> str:
    """Return claims.json: the claims, the command that makes them again, and what else was changed."""
    own = {claim["text"] for claim in claims}
    others = [str(change) for change in changes if change.what != "claim" or change.name not in own]
    head: dict[str, Any] = {
        "experiment": experiment.name,
        "scale": experiment.scale,
        "command": command(experiment),
        "changed": others,
    }
    if experiment.underpowered:
        head["underpowered"] = experiment.underpowered
    return plain_json({**head, "claims": claims})
