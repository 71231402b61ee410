"""What successive halving chooses beside the full grid: replayed from recorded curves, and once as it was trained."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from normexp.bench import trained_halving
from normexp.bench.result import Result
from normexp.bench.trained_halving import design_in_words, recorded
from normexp.experiments.experiment import Experiment, Point
from normexp.experiments.grids import Halving
from normexp.experiments.halving import share_of_grid
from normexp.experiments.load import load
from normexp.experiments.noise import within_noise
from normexp.experiments.trials import Choosing, Trial, combinations, goodness
from normexp.records import METRICS

RESULTS = Path("results")
IN_THIRDS = ("which_norm_small",)  # of the epoch that a run lasts: two sizes of the batch, two numbers of steps
SCALE = "cpu"
DESIGNS = {  # experiment, of full grids whose curves have evaluations in between; rungs at these
    "digits_rates_grid": (([20, 60, 400], [5, 2]), ([20, 100, 400], [4, 2]), ([20, 80, 400], [6, 2])),
    "vit_norms": (([19, 190], [2]), ([38, 190], [2]), ([19, 76, 190], [3, 2])),
    "ioffe2015_figure1": (([1000, 10000], [6]), ([1000, 3000, 10000], [6, 2])),
    "ioffe2015_table": (([500, 1500], [2]),),
    "which_norm_small": (([1, 3], [2]), ([1, 3], [3])),
}


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Replay every design on every choice of its experiment; nothing is trained."""
    cells = []
    for name, designs in DESIGNS.items():
        experiment = load(name, SCALE)
        choices = experiment.choices(list(experiment.arms)).values()
        for steps, keep in designs[: 1 if quick else None]:
            found = [replayed(experiment, steps, keep, *choice) for choice in choices]
            cells.append(
                [name, design_in_words(steps, keep, name in IN_THIRDS), *_counts(experiment, found, steps, keep)]
            )
    known = trained_halving.further(RESULTS)
    yield Result(
        name="halving",
        caption="Successive halving beside the full grid, both from recorded runs.",
        headers=["experiment", "design", "share of the grid's steps", "choices", "the same", "another within noise"],
        cells=[*cells, *trained_halving.rows(RESULTS, known)],
        notes=(
            "Replayed, but for which_norm: the rungs are places of the curves that the full grid recorded.",
            "digits_rates_grid: 12 combinations of rate and momentum, three seeds; its rate is constant, so that the "
            "beginning of a curve is the curve of a short run.",
            "vit_norms: five rates, three seeds; its rate falls along the whole run, in "
            "short ones it would fall sooner.",
            "ioffe2015_figure1: 18 combinations of rate and initial deviation, three seeds; its rate is constant.",
            "ioffe2015_table: four rates, one seed; its rate halves once along the whole run.",
            "which_norm_small: six rates, three seeds, batches of 128 and of 8; its rate falls along the whole run.",
            "which_norm: five rates, one seed; its rungs as they were trained, each with a schedule of its own length, "
            "beside `which_norm_rates`, where every rate trained for the steps of the last rung.",
            "which_norm, whole runs: beside `which_norm_whole_rates`; another seed, and no highest rate. Of those for "
            "1170 steps two were trained of each scheme, at 0.05 and 0.2 (`which_norm_third_rates`; their warm-up: as "
            "long as that of whole runs, `which_norm_third_warmup`). What is within noise is told by four seeds that "
            "chose nothing where they were trained at both rates (`which_norm_one_rate`): that the 95 % interval of "
            "the paired difference holds 0. Their accuracy on held-out images at 0.2 minus that at 0.05, in points: "
            f"{trained_halving.differences(known)}.",
        ),
    )


def _counts(
    experiment: Experiment, found: Sequence[tuple[Trial, Trial]], steps: list[int], keep: list[int]
) -> list[str]:
    select = experiment.select
    assert select is not None
    others = [pair for pair in found if pair[0]["values"] != pair[1]["values"]]
    near = sum(within_noise(*pair, experiment, select) for pair in others)
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
        paths = Choosing(experiment, RESULTS, arm, at).runs(values)
        curves.append((values, [_curve(path, select.metric, experiment.name in IN_THIRDS) for path in paths]))

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


def _curve(path: Path, metric: str, in_thirds: bool) -> dict[int, float]:
    rows = recorded(path).rows(METRICS)
    places = (round(3 * float(row["epoch"])) if in_thirds else int(row["step"]) for row in rows)
    return {place: float(row[metric] or "nan") for place, row in zip(places, rows, strict=True)}
