"""Several seeds as one line with a band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

LINE = "Lines: mean over the converged seeds;"
DEVIATION, REACH = f"{LINE} bands: ± 1 standard deviation.", f"{LINE} bands: from the lowest to the highest seed."
CROSSES = "Crosses: last evaluation of a run that diverged (on the panel's edge if beyond it)."
ONE = "Lines: one seed each, so no band."


def meaning(seeds: int, log: bool) -> str:
    """Return what line and band are, for a caption."""
    return ONE if seeds < 2 else REACH if log else DEVIATION


def band(runs: Sequence[tuple[Numbers, Numbers]], log: bool) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return x, mean, low and high over runs, each (x, y), at the x that all of them have.

    Mean - sd of a positive quantity may well be negative, and a logarithmic axis would draw it down to its foot,
    where no seed ever was: there low and high are the lowest and the highest seed. One seed has no band (NaN).
    """
    x = runs[0][0]
    for other, _ in runs[1:]:
        x = x[np.isin(x, other)]
    values = np.array([own[np.isin(each, x)] for each, own in runs])
    mean = values.mean(0)
    if len(values) < 2:
        return x, mean, np.full(len(x), np.nan), np.full(len(x), np.nan)
    if log:
        return x, mean, values.min(0), values.max(0)
    deviation = values.std(0, ddof=1)
    return x, mean, mean - deviation, mean + deviation
