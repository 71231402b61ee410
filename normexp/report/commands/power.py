"""`normexp reproduce NAME --power`: how many seeds would decide what is undecided. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from normexp.config.text import amount
from normexp.evidence.claims import UNDECIDED, Claim, Verdict
from normexp.evidence.claims.power import least_p, seeds_that_agree, smallest_adjusted_p
from normexp.evidence.claims.region import Region
from normexp.evidence.stats import LEVEL, Design
from normexp.experiments.check import tested
from normexp.experiments.experiment import Experiment
from normexp.report.experiment.claims import judged
from normexp.report.experiment.not_counted import not_counted
from normexp.report.frames.measured import read_measured

MANY = 200


def power(experiment: Experiment, results: Path) -> Iterator[str]:
    """Yield a line per undecided claim, by the recorded runs as a pilot, whose seeds are not to be used again."""
    measured = read_measured(experiment, results)
    if measured.waiting:
        yield f"{experiment.name}, scale {experiment.scale}: {measured.waiting}"
        yield from filter(None, [not_counted(experiment, measured, results)])
        return
    verdicts = judged(experiment, measured)
    undecided = [(claim, verdict) for claim, verdict in verdicts if verdict.verdict == UNDECIDED]
    chosen_with = [*select.seeds, *select.ties] if (select := experiment.select) else []
    used = {int(seed) for seed in (*experiment.grid["seed"], *chosen_with)}
    yield f"{experiment.name}, scale {experiment.scale}: {len(undecided)} of {len(verdicts)} claims are undecided"
    if not undecided:
        return
    yield (
        f"seeds used so far: {', '.join(map(str, sorted(used)))}; these numbers come from them, so decide with others, "
        f"from {max(used) + 1} on, and judge by those alone"
    )
    yield from _by_ranks(tested(experiment), len(experiment.grid["seed"]), experiment.design)
    family, design = sum(verdict.p is not None for _, verdict in verdicts), experiment.design
    for claim, verdict in undecided:
        yield f"- {claim.text}: {_by_signs(verdict, family, design) or _wanted(claim, verdict, design)}"


def _by_ranks(family: Sequence[Claim], n: int, design: Design | None) -> Iterator[str]:
    """Say how many seeds it takes until ranks can decide at all, where these cannot."""
    least = partial(least_p, partial(smallest_adjusted_p, family), design)
    if least(n) > LEVEL:
        enough = next(size for size in range(n, MANY) if least(size) < LEVEL)
        none = f"ranks give no claim here an adjusted p below {least(n):.2g}"
        yield f"with {amount(n, 'seed')}{_in_looks(design)} {none}; {enough} seeds{_in_looks(design)} can decide"


def _by_signs(verdict: Verdict, family: int, design: Design | None) -> str:
    """Say how many seeds that agree decide a claim whose runs all do; nothing of another."""
    enough = None if verdict.fresh_seeds else seeds_that_agree(verdict.n, verdict.p, family, design)
    if enough is None:
        return ""
    agree = f"{enough} fresh seeds{_in_looks(design)} that agree can decide"
    return f"all {verdict.n} agree, and equal values leave only their signs; {agree}"


def _in_looks(design: Design | None) -> str:
    return f" in {amount(len(design.looks), 'look')}" if design else ""


def _wanted(claim: Claim, verdict: Verdict, design: Design | None) -> str:
    """Say how many seeds would decide; under a design at the level that its last look has, with looks in proportion."""
    seeds = verdict.fresh_seeds_in_looks if design else verdict.fresh_seeds
    if seeds is None:
        why = "no spread to plan by: ranks, counts, evaluations too far apart, or too few runs"
        return f"cannot be told from {amount(verdict.n, 'seed')} ({why})"
    sizes = (seeds.observed, seeds.safeguard)
    shown = [f"{each} fresh seeds{_in_looks(design)}" if each else "more than a thousand" for each in sizes]
    hint = _other_question(claim) if (seeds.observed or MANY) >= MANY else ""
    return f"{shown[0]} if the effect is as observed, {shown[1]} by the nearer end of its one-sided 80 % interval{hint}"


def _other_question(claim: Claim) -> str:
    """Return what might be asked instead, with other seeds; nothing of a claim that has a margin on both sides."""
    region: Region | None = getattr(claim, "region", None)
    if region is None or not region.one_sided:
        return ""
    return f"; rather an equivalence, `in: within MARGIN of {region.low if region.upward else region.high:g}`"
