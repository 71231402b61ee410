"""What a sequential design costs and saves: families of claims simulated, beside all seeds at once and beside peeking.

A claim is a paired difference of an arm and a baseline that all claims share (so they are correlated by one half), in
units of its standard deviation between seeds; it says that the difference is above 0. Where it is 0, or below, deciding
otherwise is an error. The p-values are those of `evidence`, written for arrays; a test holds them equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from normexp.bench.result import Result
from normexp.evidence.stats import LEVEL, Design

EXPERIMENTS = 10_000
LOOKS = (5, 10, 15, 20)
POINTS = 1001  # of the grid on which densities are integrated
FAMILIES = {
    "none of 4 claims has an effect": (0.0,) * 4,
    "4 effects of 0.8": (0.8,) * 4,
    "4 effects of 1.5": (1.5,) * 4,
    "4 effects of 3": (3.0,) * 4,
    "effects of 0, 0.8, 1.5 and 3": (0.0, 0.8, 1.5, 3.0),
}
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Simulated:
    """What came out of many experiments.

    Args:
        wrong: share of the experiments with at least one claim decided that is not so.
        covered: share of the intervals that hold the true difference when the experiment stops.
        decided: share of the claims with an effect that are decided.
        seeds: mean number of seeds.
    """

    wrong: float
    covered: float
    decided: float
    seeds: float


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Simulate every family under every way to look."""
    experiments = EXPERIMENTS // 10 if quick else EXPERIMENTS
    found = {
        (family, way): simulated(looks, levels, effects, experiments)
        for family, effects in FAMILIES.items()
        for way, (looks, levels) in ways().items()
    }
    yield Result(
        name="looks",
        caption=f"{experiments:,} simulated experiments of four claims each: what is decided, and with how many seeds.",
        headers=["truth", "looks", "wrong, %", "intervals cover, %", "decided, %", "mean seeds"],
        cells=[[family, way, *_cells(each)] for (family, way), each in found.items()],
        notes=(
            f"Looks at {', '.join(map(str, LOOKS))} seeds; effects in standard deviations of the paired difference.",
            "Wrong: experiments that decide a claim, after Holm's correction, that is not so; 5 are allowed.",
            "Lan and DeMets' boundaries are those of a normal sample of known variance, at the level of a t test.",
        ),
        data=[{"truth": family, "looks": way, **vars(each)} for (family, way), each in found.items()],
    )


def _cells(found: Simulated) -> list[str]:
    decided = "" if np.isnan(found.decided) else f"{100 * found.decided:.1f}"
    return [f"{100 * found.wrong:.1f}", f"{100 * found.covered:.1f}", decided, f"{found.seeds:.1f}"]


@cache
def ways() -> dict[str, tuple[tuple[int, ...], Array]]:
    """Return name -> (looks, what a p-value of each is divided by): designs, all seeds at once, and what is wrong."""
    designs = {name: Design(tuple(range(LOOKS[-1])), LOOKS, name) for name in ("pocock", "obrien_fleming")}
    return {
        "all seeds at once": (LOOKS[-1:], np.ones(1)),
        **{f"spending {name}": (LOOKS, np.array(design.shares)) for name, design in designs.items()},
        "control: Lan-DeMets boundaries": (LOOKS, normal_levels(designs["pocock"]) / LEVEL),
        "control: peeking, nothing spent": (LOOKS, np.ones(len(LOOKS))),
    }


def simulated(looks: Sequence[int], shares: Array, effects: Sequence[float], experiments: int) -> Simulated:
    """Simulate experiments that stop at the first look at which all claims are decided, or at the last.

    Args:
        shares: of the level, one per look.
    """
    truth = np.array(effects)
    p, mean, low, high = looked_at(draws(looks[-1], truth, experiments), looks, shares)
    decided = holm(p) < LEVEL
    stop = np.where(decided.all(axis=2), np.arange(len(looks)), len(looks) - 1).min(axis=1)
    here = (np.arange(experiments), stop)
    found, sign = decided[here], first_sign(p, mean)[here]
    wrong = found & ((truth <= 0) | (sign < 0))
    covered = (low[here] <= truth) & (truth <= high[here])
    return Simulated(
        float(np.any(wrong, axis=1).mean()),
        float(covered.mean()),
        float(found[:, truth > 0].mean()) if (truth > 0).any() else float("nan"),
        float(np.array(looks)[stop].mean()),
    )


def draws(seeds: int, truth: Array, experiments: int) -> Array:
    """Return paired differences, (experiments, seeds, claims), of standard deviation 1."""
    rng = np.random.default_rng([seeds, *(int(100 * each) for each in truth)])
    baseline = rng.standard_normal((experiments, seeds, 1))
    own = rng.standard_normal((experiments, seeds, len(truth)))
    return truth + (own - baseline) / np.sqrt(2)


def looked_at(values: Array, looks: Sequence[int], shares: Array) -> tuple[Array, Array, Array, Array]:
    """Return p-value, mean and both ends of the interval, (experiments, looks, claims); p and ends allow for the looks
    so far.
    """
    from scipy.special import stdtr, stdtrit

    n = np.array(looks)[:, None]
    mean = np.stack([values[:, :k].mean(1) for k in looks], axis=1)
    error = np.stack([values[:, :k].std(1, ddof=1) for k in looks], axis=1) / np.sqrt(n)
    p = 2 * stdtr(n - 1, -np.abs(mean / error)) / shares[:, None]
    reach = -stdtrit(n - 1, shares[:, None] * LEVEL / 2) * error
    low, high = np.maximum.accumulate(mean - reach, axis=1), np.minimum.accumulate(mean + reach, axis=1)
    empty = low > high  # then the interval of the look itself stands
    low, high = np.where(empty, mean - reach, low), np.where(empty, mean + reach, high)
    return np.minimum.accumulate(np.minimum(p, 1.0), axis=1), mean, low, high


def holm(p: Array) -> Array:
    """Return Holm-adjusted p-values along the last axis, as `evidence.stats.holm` does for one family."""
    order, m = np.argsort(p, axis=-1), p.shape[-1]
    sorted_p = np.minimum(np.take_along_axis(p, order, -1) * (m - np.arange(m)), 1.0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(sorted_p, axis=-1), -1)
    return adjusted


def first_sign(p: Array, mean: Array) -> Array:
    """Return the sign of the difference at the look that had the least p-value so far."""
    sign = np.sign(mean)
    for look in range(1, p.shape[1]):
        sign[:, look] = np.where(p[:, look] < p[:, look - 1], sign[:, look], sign[:, look - 1])
    return sign


def normal_levels(design: Design) -> Array:
    """Return the level of each look at Lan and DeMets' boundaries: all of them together spend the level exactly.

    By recursion over the density of the sum among the experiments that have not stopped (Armitage, McPherson & Rowe
    1969, "Repeated significance tests on accumulating data").
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    times = np.array(design.looks) / design.looks[-1]
    bounds = [norm.isf(LEVEL * design.shares[0] / 2)]
    for look in range(1, len(times)):
        ends = np.array(bounds) * np.sqrt(times[:look])
        grid, density = _still_running(ends, times[:look])
        step = np.sqrt(times[look] - times[look - 1])

        def excess(
            bound: float, grid: Array = grid, density: Array = density, step: float = step, k: int = look
        ) -> float:
            end = bound * np.sqrt(times[k])
            leave = norm.sf((end - grid) / step) + norm.cdf((-end - grid) / step)
            return float(np.trapezoid(leave * density, grid)) - LEVEL * design.shares[k]

        bounds.append(brentq(excess, 0.5, 9.0))
    return 2 * norm.sf(np.array(bounds))


def _still_running(ends: Array, times: Array) -> tuple[Array, Array]:
    """Return the density of the sum at the last of the times, where it never left the ends."""
    from scipy.stats import norm

    grid = np.linspace(-ends[0], ends[0], POINTS)
    density = norm.pdf(grid, scale=np.sqrt(times[0]))
    for k in range(1, len(times)):
        new = np.linspace(-ends[k], ends[k], POINTS)
        steps = norm.pdf(new[:, None] - grid[None], scale=np.sqrt(times[k] - times[k - 1]))
        grid, density = new, np.trapezoid(steps * density, grid, axis=1)
    return grid, density
