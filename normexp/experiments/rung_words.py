"""What is said of a rung of a choice before it trains: how long its runs are, and what may follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from normexp.config.text import amount
from normexp.experiments.grids import Selection
from normexp.experiments.halving import breaks_ties, survivors
from normexp.experiments.trials import Choosing


def rung_in_words(choices: Mapping[str, Choosing], rung: int) -> str:
    """Say which rung of a successive halving it is, and what follows; of a sampler which trial.

    Args:
        choices: all that is chosen, from one selection.
    """
    select = next(iter(choices.values())).select
    if select.sampler:
        return f" by {select.sampler.name}, trial {rung + 1} of {select.sampler.trials}"
    if breaks_ties(select, rung):
        tied = [name for name, choosing in choices.items() if survivors(choosing, rung)]
        return f", {seeds_in_words(select.ties)} for the best two, which lie within noise: {'; '.join(tied)}"
    return _steps(select, rung) + _ties(select, len(choices))


def _steps(select: Selection, rung: int) -> str:
    """Say how long the runs of a rung are, and what follows; nothing where there is one rung."""
    if select.halving is None:
        return ""
    later = zip(select.halving.keep[rung:], select.halving.steps[rung + 1 :], strict=True)
    then = "".join(f", then the best {keep} for {steps}" for keep, steps in later)
    return f", {select.halving.steps[rung]} steps{then}"


def _ties(select: Selection, choices: int) -> str:
    """Say what may follow the last rung."""
    if not select.ties:
        return ""
    most = amount(2 * len(select.ties) * choices, "run")
    return f", then at most {most} with {seeds_in_words(select.ties)} where the best two lie within noise"


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Return `seed 0`, or `seeds 0, 1`."""
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
