"""Every law holds at its full scale, and its controls leave it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from normexp.config.instantiate import instantiate
from normexp.evidence.claims import judge
from normexp.evidence.curves import Cell, Curve
from normexp.experiments.load import laws, load
from normexp.studies.base import StudyContext

# At full scale


def full_scale(name: str, seeds: Sequence[int], points: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Run an experiment's own configurations at scale paper; return {claim: verdict} of its follows and leaves."""
    experiment = load(name, "paper")
    curves: dict[Cell, dict[int, Curve]] = {}
    for arm in experiment.arms:
        for point in experiment.points():
            values = dict(point)
            if values["seed"] not in seeds or any(values[axis] not in kept for axis, kept in points.items()):
                continue
            config = experiment.config(arm, point)
            rows = instantiate(config["study"]).measure(StudyContext(config)).rows
            columns = {key: np.array([float(row[key]) for row in rows]) for key in rows[0] if key != "step"}
            cell = Cell(arm, tuple((axis, value) for axis, value in point if axis != "seed"))
            curve = Curve(np.array([row["step"] for row in rows]), columns, "done")
            curves.setdefault(cell, {})[values["seed"]] = curve
    claims = [claim for claim in experiment.claims if claim.compare in ("follows", "leaves") and claim.kind != "own"]
    return {claim.text: verdict.verdict for claim, verdict in zip(claims, judge(claims, curves), strict=True)}


FULL = {
    "law_decay_rate": ((0,), {"study.momentum": [0.9]}),
    "law_selectable_keys": ((0, 1), {"study.keys": [50]}),
    "law_least_squares": ((4,), {"study.rate": [0.001, 10.0, 1000.0]}),
    "law_orthogonalization": ((0, 1, 2, 3), {}),
    "law_batch_norm_explosion": ((0, 1, 2, 3, 4), {"study.batch": [256]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_law_holds_at_full_scale_and_its_controls_leave_it(name):
    verdicts = full_scale(name, *FULL[name])
    assert verdicts
    assert set(verdicts.values()) == {"holds"}, verdicts


def test_every_law_has_a_formula_a_lesson_a_figure_and_a_control():
    assert len(laws()) >= 14
    for name in laws():
        experiment = load(name, "paper")
        compared = [claim.compare for claim in experiment.claims]
        assert "follows" in compared
        assert "leaves" in compared
        assert experiment.figures
        assert experiment.law.formula
        assert len(experiment.law.lesson) > 200
