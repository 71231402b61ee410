"""How long a run would take: a few real steps and one real evaluation batch, timed, and multiplied out."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace

import torch

from normexp.config import Config
from normexp.data.loading import Loader
from normexp.errors import UserError
from normexp.training.batches import EVALUATION_BATCH, sequential_batches
from normexp.training.build import build, initialize_from_data
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.length import KEYS, length_of
from normexp.training.metrics import evaluate
from normexp.training.process import process_settings

WARM_UP, STEPS, SECONDS = 2, 10, 1.0  # steps not timed, steps timed at most, seconds after which no step is begun
FEW = 32  # examples that are evaluated where a step takes that long


@dataclass(frozen=True)
class Speed:
    """What trainings of any length with one network, scheme and data set have in common.

    Args:
        step, evaluation: seconds of an update, and of an evaluation of all splits.
    """

    step: float
    evaluation: float
    steps_per_epoch: int

    def seconds(self, config: Config) -> float:
        """Return the seconds of a whole run."""
        steps, eval_every = length_of(config.values, self.steps_per_epoch)
        return steps * self.step + (1 + -(-steps // eval_every)) * self.evaluation


def estimate_seconds(config: Config, loader: Loader, known: dict[Hashable, Speed] | None = None) -> float:
    """Return the estimated seconds of a whole run on this machine as it is now.

    Args:
        known: what was measured before, which this adds to: runs of another length are not measured again.

    Raises: UserError for a study, whose steps are its own, and as `build` does.
    """
    if config.choices["study"] != "none":
        raise UserError("a study cannot be timed by a few steps; `normexp list experiments` has the times of ours")
    known = {} if known is None else known
    kind = _kind(config)
    if kind not in known:
        known[kind] = _measured(config, loader)
    return known[kind].seconds(config)


def _kind(config: Config) -> Hashable:
    """Return what decides how long a step takes: no number of the optimizer, no schedule; probes are not timed."""
    rest = {key: value for key, value in config.changes.items() if key not in ("seed", *KEYS)}
    return tuple(
        (key, str(value)) for key, value in rest.items() if not key.startswith(("optim.", "schedule", "probe"))
    )


def _measured(config: Config, loader: Loader) -> Speed:
    with process_settings(config["compile"], config["precision"]):
        components = build(config, loader.load(config), loader.examples)
        torch.set_num_threads(components.threads)
        initialize_from_data(components)
        compiles = bool(config["compile"])
        step = _step_seconds(components, compiles)
        evaluation = _evaluation_seconds(components, EVALUATION_BATCH if step < SECONDS else FEW, compiles)
        return Speed(step, evaluation, components.batches.steps_per_epoch)


def _step_seconds(components: Components, compiles: bool) -> float:
    """Return the mean of a few steps; where a step is slow, of those that one second begins, the first if need be.

    Args:
        compiles: the first steps take as long as torch's compiler does, once in a run, and are left out.
    """
    seconds: list[float] = []
    untimed = WARM_UP if compiles else 0
    updates = fit(_with_schedule_at_any_step(components), stop=untimed + WARM_UP + STEPS)
    for _ in range(untimed):
        next(updates)
    while len(seconds) < WARM_UP + STEPS and sum(seconds) < SECONDS:
        began = time.perf_counter()
        next(updates)
        seconds.append(time.perf_counter() - began)
    timed = seconds[WARM_UP:] or seconds[-1:]
    return sum(timed) / len(timed)


def _with_schedule_at_any_step(components: Components) -> Components:
    """Return the same with a schedule that behind the last step is as there: a run may be shorter than its estimate."""
    return replace(components, schedule=lambda step: components.schedule(min(step, components.steps - 1)))


def _evaluation_seconds(components: Components, size: int, compiles: bool) -> float:
    if not components.evaluated:
        return 0.0
    examples = next(iter(components.evaluated.values()))
    first = [next(sequential_batches(examples, size))]
    if compiles:
        evaluate(components, first)
    began = time.perf_counter()
    components.before_evaluation()
    prepared = time.perf_counter()
    evaluate(components, first)
    count = sum(len(split) for split in components.evaluated.values())
    return prepared - began + (time.perf_counter() - prepared) * count / len(first[0][1])
