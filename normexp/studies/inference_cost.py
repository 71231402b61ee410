"""What a scheme costs a whole network at prediction, folded and not, and in training, beside the network without it."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from time import process_time

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.config import Config
from normexp.diagnosis import cost
from normexp.errors import UserError
from normexp.evidence.stats import SignTest
from normexp.norms.base import Norm, weight_layers
from normexp.norms.checks.memory import kept_by
from normexp.norms.checks.subject import distance
from normexp.norms.fold import Folded, fold
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_model, lay_out
from normexp.training.components import Components
from normexp.training.fit import fit

WARM_UP = 3  # rounds that do not count
PASSES = 2  # of a prediction: one is too short to be timed
Task = Callable[[], object]
Times = Mapping[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class InferenceCost(Study):
    """Time and memory of the configuration's network, as ratios to the same network with norm=none.

    All take turns, round after round, in random order, so that a busy machine slows all alike; a ratio is taken
    within a round, reported is the median over rounds with its 95 % interval by the sign test. On a CPU the process's
    own time counts, without what other programs take; with threads=1 that is the wall-clock time of an idle machine.
    No two runs give equal numbers.

    Args:
        repeats: rounds.

    Folded is a network whose normalizations are absorbed by the layers before them wherever they are affine in
    evaluation, and whose weights are computed once instead of at every call. `added` counts the parts that the
    network without the scheme does not have, `left` those that folding leaves.
    """

    repeats: int = 9

    def measure(self, context: StudyContext) -> Outcome:
        without = StudyContext(without_norm(context.config), context.process)
        scheme, plain = context.components, without.components
        x = scheme.batches.first(scheme.batches.batch_size)[0]
        if not kept(plain.model, x):
            chosen = context.config.choices["model"]
            raise UserError(
                f"study=inference_cost: model={chosen} keeps nothing for backward, so there is no ratio of it"
            )
        training = {"training": update(scheme), "plain_training": update(plain)}
        timed(training, WARM_UP, scheme.device)  # also moves the running statistics off their start
        networks = {"forward": evaluating(context), "folded": folded(context), "plain": evaluating(without)}
        tasks = {name: prediction(network, x) for name, network in networks.items()}
        times = timed({**tasks, **training}, WARM_UP + self.repeats, scheme.device)
        known = {type(module) for module in networks["plain"].modules()} | {nn.Identity, Folded}
        row = {
            **ratio("forward", times["forward"], times["plain"]),
            **ratio("folded", times["folded"], times["plain"]),
            **ratio("training", times["training"], times["plain_training"]),
            "kept_ratio": kept(scheme.model, x) / kept(plain.model, x),
            "added": foreign(networks["forward"], known),
            "left": foreign(networks["folded"], known),
            "fold_error": difference(networks["forward"], networks["folded"], x),
        }
        return Outcome([{"step": 0, **row}])


def without_norm(config: Config) -> Config:
    """Return the configuration with norm=none."""
    target = f"{Norm.__module__}.{Norm.__name__}"
    return replace(config, values={**config.values, "norm": {"_target_": target}})


def update(components: Components) -> Task:
    """Return a training step, always on the first batch."""
    batch = components.batches.first(components.batches.batch_size)
    updates = fit(components, stop=sys.maxsize, batches=repeat(batch))
    return lambda: next(updates)


def prediction(network: nn.Module, x: Tensor) -> Task:
    """Return `PASSES` forward passes."""

    @torch.inference_mode()
    def run() -> None:
        for _ in range(PASSES):
            network(x)

    return run


def evaluating(context: StudyContext) -> nn.Module:
    """Return a copy of the network in evaluation mode.

    Built afresh: a deepcopy shares the classes of parametrized layers, and folding it would change the original.
    """
    components, data = context.components, context.data
    network = build_model(context.config, components.norm, data.input_shape, data.num_outputs)
    network.load_state_dict(components.model.state_dict())
    return lay_out(network.to(components.device)).eval()


def folded(context: StudyContext) -> nn.Module:
    """Return a copy with every foldable normalization folded, and every weight computed once.

    Raises: UserError where `fold` refuses.
    """
    network = evaluating(context)
    try:
        fold(network)
    except ValueError as error:
        raise UserError(f"study=inference_cost: {error}") from None
    for layer in weight_layers(network):
        if parametrize.is_parametrized(layer, "weight"):
            parametrize.remove_parametrizations(layer, "weight")
    return lay_out(network)


def timed(tasks: Mapping[str, Task], rounds: int, device: torch.device) -> Times:
    """Return the seconds of every task in every round after the warm-up."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    order = random.Random(0)
    for _ in range(rounds):
        for name in order.sample(list(tasks), len(tasks)):
            times[name].append(seconds(tasks[name], device))
    return {name: each[WARM_UP:] for name, each in times.items()}


def seconds(task: Task, device: torch.device) -> float:
    """Return how long a call takes, after one that does not count: it leaves the caches to whoever comes next."""
    task()
    start = now(device)
    task()
    return now(device) - start


def now(device: torch.device) -> float:
    """Return the clock once the device has finished; on a CPU, the process's own time."""
    return process_time() if device.type == "cpu" else cost.now(device)


def ratio(name: str, times: list[float], plain: list[float]) -> dict[str, float]:
    """Return the median of the paired ratios and its interval."""
    found = SignTest(tuple(ours / theirs for ours, theirs in zip(times, plain, strict=True)))
    interval = found.confidence_interval()
    return {f"{name}_ratio": found.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def kept(model: nn.Module, x: Tensor) -> int:
    """Return the bytes kept for backward in a training step."""
    return kept_by(model.train(), x.detach().clone().requires_grad_())


def foreign(module: nn.Module, known: set[type[nn.Module]]) -> int:
    """Return how many parts are of other types than the known ones; a part's own parts do not count again."""
    return 1 if type(module) not in known else sum(foreign(child, known) for child in module.children())


@torch.no_grad()
def difference(network: nn.Module, other: nn.Module, x: Tensor) -> float:
    """Return the relative distance of two networks' outputs."""
    return distance(other(x), network(x))
