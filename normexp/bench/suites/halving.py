"""What successive halving would have chosen, replayed from the recorded curves of a selection over the full grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from normexp.bench.result import Result
from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, Point, run_place
from normexp.experiments.grids import Halving
from normexp.experiments.halving import share_of_grid
from normexp.experiments.load import load
from normexp.experiments.selection import within_noise
from normexp.experiments.trials import Trial, combinations, goodness, points
from normexp.records import METRICS, RunDirectory

RESULTS = Path("results")
DESIGNS = {  # experiment and scale, of full grids whose curves have evaluations in between; rungs at these
    ("digits_rates_grid", "cpu"): (([20, 60, 400], [5, 2]), ([20, 100, 400], [4, 2]), ([20, 80, 400], [6, 2])),
    ("vit_norms", "cpu"): (([19, 190], [2]), ([38, 190], [2]), ([19, 76, 190], [3, 2])),
    ("ioffe2015_figure1", "cpu"): (([1000, 10000], [6]), ([1000, 3000, 10000], [6, 2])),
    ("ioffe2015_table", "cpu"): (([500, 1500], [2]),),
}


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Replay every design on every choice of its experiment; nothing is trained."""
    cells = []
    for (name, scale), designs in DESIGNS.items():
        experiment = load(name, scale)
        for steps, keep in designs[: 1 if quick else None]:
            found = [
                replayed(experiment, steps, keep, *choice)
                for choice in experiment.choices(list(experiment.arms)).values()
            ]
            cells.append(
                [
                    name if scale == "cpu" else f"{name}, {scale}",
                    _words(steps, keep),
                    *_counts(experiment, found, steps, keep),
                ]
            )
    yield Result(
        name="halving",
        caption="Successive halving, replayed from the recorded curves of selections over the full grid.",
        headers=["experiment", "design", "share of the grid's steps", "choices", "the same", "another within noise"],
        cells=cells,
        notes=(
            "digits_rates_grid: 12 combinations of rate and momentum, three seeds; its rate is constant, so that the "
            "beginning of a curve is the curve of a short run.",
            "vit_norms: five rates, three seeds; its rate falls along the whole run, in "
            "short ones it would fall sooner.",
            "ioffe2015_figure1: 18 combinations of rate and initial deviation, three seeds; its rate is constant.",
            "ioffe2015_table: four rates, one seed; its rate halves once along the whole run.",
        ),
    )


def _words(steps: Sequence[int], keep: Sequence[int]) -> str:
    later = (f"{count} for {budget}" for count, budget in zip(keep, steps[1:], strict=True))
    return f"all for {steps[0]} steps, {', '.join(later)}"


def _counts(
    experiment: Experiment, found: Sequence[tuple[Trial, Trial]], steps: list[int], keep: list[int]
) -> list[str]:
    select = experiment.select
    assert select is not None
    others = [pair for pair in found if pair[0]["values"] != pair[1]["values"]]
    near = sum(within_noise(pair, experiment, select) for pair in others)
    share = share_of_grid(select.model_copy(update={"halving": Halving(steps=steps, keep=keep)}))
    noise = f"{near} of {len(others)}" if len(select.seeds) > 1 else ""
    return [f"{share:.2f}", str(len(found)), str(len(found) - len(others)), noise]


def replayed(
    experiment: Experiment, steps: Sequence[int], keep: Sequence[int], arm: str, at: Point
) -> tuple[Trial, Trial]:
    """Return the trials that the full grid and a halving choose, each with its scores at the last step."""
    select = experiment.select
    assert select is not None
    curves = []
    for values in combinations(select):
        paths = [run_place(RESULTS, experiment, arm, at + point, "select") for point in points(select, values)]
        curves.append((values, [_curve(path, select.metric) for path in paths]))

    def trial(index: int, step: int) -> Trial:
        values, own = curves[index]
        scores = [curve.get(step, math.nan) for curve in own]
        mean = sum(scores) / len(scores)
        return {"values": values, "scores": scores, "mean": mean if math.isfinite(mean) else None}

    going = list(range(len(curves)))
    full = max(going, key=lambda index: goodness(trial(index, steps[-1]), select))
    for step, count in zip(steps, [*keep, 1], strict=True):
        going = sorted(going, key=lambda index: -goodness(trial(index, step), select))[:count]
    return trial(full, steps[-1]), trial(going[0], steps[-1])


def _curve(path: Path, metric: str) -> dict[int, float]:
    rows = RunDirectory(path).rows(METRICS)
    if not rows:
        raise UserError(f"bench halving: {path} is not there; it reads a checkout's own records")
    return {int(row["step"]): float(row[metric] or "nan") for row in rows}
