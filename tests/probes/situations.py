"""A network with examples of its own, as probes look at it."""

import torch
from torch import Tensor, nn

from normexp.config import compose, options
from normexp.config.instantiate import instantiate
from normexp.probes.base import Probe, Situation
from normexp.training.build import build, initialize_from_data

TINY = ("model=mlp", "model.widths=[6,5]", "model.activation=sigmoid", "norm=batch", "batch_size=16", "steps=12")
TINY += ("eval_every=5", "device=cpu", "threads=1")
RESIDUAL = ("model=resnet_small", "model.blocks=1", "norm=batch", "batch_size=16", "steps=4", "eval_every=2")
RESIDUAL += ("dataset.subset=200", "optim.weight_decay=0.01", "optim.momentum=0.9", "device=cpu", "threads=1")
ASK_MUCH = ("equilibrium", "residual_variance")  # of the network or the optimizer: RESIDUAL has what they ask for
PROBES = tuple(name for name in options("probe") if name not in ("none", "several", *ASK_MUCH))


def facing(
    model: nn.Module,
    x: Tensor,
    y: Tensor | None = None,
    rate: float = 0.1,
    optimizer: torch.optim.Optimizer | None = None,
) -> Situation:
    """The situation of a network that has these examples for training and test; squared error."""
    target = torch.zeros(len(x)) if y is None else y

    def take(count: int) -> tuple[Tensor, Tensor]:
        return x[:count], target[:count]

    def loss(outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs.sum(1) - y).square().mean()

    return Situation(model=model, test=take, training=take, loss=loss, rate=rate, optimizer=optimizer)


def found(probe: Probe, situation: Situation) -> dict[tuple[str, str], float]:
    readings = probe.measure(situation)
    assert len({reading[:2] for reading in readings}) == len(readings)
    return {(layer, statistic): value for layer, statistic, value in readings}


def built(*overrides: str):
    """Build and initialize the components of a run on digits."""
    config = compose([*overrides, "device=cpu", "threads=1"])
    components = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(components)
    return components
