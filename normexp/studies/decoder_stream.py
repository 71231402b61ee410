"""What the residual stream of a decoder grows to, layer by layer, at initialization."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.config import Config
from normexp.errors import UserError
from normexp.probes.residual_variance import outputs_of
from normexp.seeding import generator
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_model, build_norm

KINDS = 64  # of tokens
NODES = 64  # of the quadrature of a normal distribution
POSITIONS = {"first": 0, "last": -1}
OFF = 1e-3  # of what a norm gives, relatively: an eps of ordinary size is off by more in the first layer
GIVES: dict[str, tuple[str, Callable[[int], float]]] = {  # where the norm stands and which mean square it gives
    "pre": ("before", lambda layer: 1.0),
    "layernorm_scaling": ("before", lambda layer: 1.0 / layer),
    "peri": ("within", lambda layer: 1.0),
}


@dataclass(frozen=True, kw_only=True)
class DecoderStream(Study):
    """Mean square of the residual stream of the configuration's decoder behind layer l = 1..L, before training.

    `square` is over random tokens at one position, `formula` its mean over the weights; `relative` and
    `relative_formula` are each over its value behind layer 1.

    Derived, for the first position, which attends to itself alone: a branch ends in weights of mean 0 and variance o,
    independent of all that enters them, so squares add. N gives the mean square m, 1 under `pre` and 1/l under
    `layernorm_scaling`. With C features and weights of variance s, values and hidden units have the variance
    v = C s m; attention adds C o v and the feed-forward branch 4 C o E gelu(z)^2, z ~ N(0, v). o is s / (2 L) under
    `pre`, whose layers add the same, and s under `layernorm_scaling`, whose layers add about 1/l each. Under `peri`
    each branch adds the 1 that N gives, to an embedding of 1. Without an eps this is exact at any width.

    Args:
        sequences, tokens: number of random texts, and their length.
        position: `first`, of which the formula is, or `last`, which averages over those before it.
        control: measure also where the law does not apply; other placements stand beside the formula of `pre`.

    Raises: UserError for another network than gpt; unless `control` also for another placement, for weights and
        branches other than gpt's defaults, and, naming the layer, for a norm that gives another mean square.

    Source: Sun et al. 2025, arXiv:2502.05795; derived above. The paper's variance under `pre` is of an order between
    L and exp(L).
    """

    sequences: int = 32
    tokens: int = 16
    position: str = "first"
    control: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        config = context.config
        if config.choices["model"] != "gpt":
            raise UserError(f"study=decoder_stream: model={config.choices['model']}: the law is of model=gpt")
        model: Any = build_model(config, build_norm(config), (self.tokens,), KINDS)
        x = torch.randint(KINDS, (self.sequences, self.tokens), generator=generator(context.seed, "texts")).float()
        norms = {} if self.control else checked_norms(config, model)
        seen = outputs_of(model, norms | {str(k): layer[-1] for k, layer in enumerate(model.layers)}, x)
        check_norms(config.choices["placement"], {name: seen[name] for name in norms if name in seen})
        squares = [mean_square(seen[str(k)][:, POSITIONS[self.position]]) for k in range(len(model.layers))]
        predicted = formula(config["model"], config.choices["placement"])
        rows = [
            {"step": k, "square": square, "formula": law, "relative": square / squares[0],
             "relative_formula": law / predicted[0]}
            for k, (square, law) in enumerate(zip(squares, predicted, strict=True), start=1)
        ]  # fmt: skip
        return Outcome(rows)


def formula(options: Mapping[str, Any], placement: str) -> list[float]:
    """Return the stream's mean square behind every layer at the first position, averaged over the weights."""
    if placement == "peri":
        return [1.0 + 2 * layer for layer in range(1, options["layers"] + 1)]
    width, variance = options["width"], options["init_std"] ** 2
    scaled = placement == "layernorm_scaling"
    output = variance if scaled else variance / (2 * options["layers"])

    def added(layer: int) -> float:
        v = width * variance / (layer if scaled else 1)
        return width * output * (v + 4 * mean_square_of_gelu(v))

    embedded = variance * (2 if options["positions"] == "learned" else 1)
    embedded *= width if options["scaled_embedding"] else 1
    return list(accumulate(map(added, range(1, options["layers"] + 1)), initial=embedded))[1:]


def mean_square_of_gelu(variance: float) -> float:
    """Return E gelu(z)^2 for normal z of mean 0, by Gauss-Hermite quadrature."""
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = map(torch.from_numpy, hermegauss(NODES))
    return float(weights @ F.gelu(math.sqrt(variance) * nodes).square()) / math.sqrt(2 * math.pi)


def checked_norms(config: Config, model: Any) -> dict[str, nn.Module]:
    """Return the norms whose outputs tell whether the formula applies; raise UserError where it cannot."""
    if reason := _other_weights(config):
        raise _does_not_apply(reason)
    place, _ = GIVES[config.choices["placement"]]
    return {
        f"layers.{k}.{j}.{place}": getattr(branch, place)
        for k, layer in enumerate(model.layers)
        for j, branch in enumerate(layer)
    }


def check_norms(placement: str, given: Mapping[str, Tensor]) -> None:
    """Raise UserError, which names the layer, where a norm gives another mean square than the formula takes."""
    for name, out in given.items():
        found, expected = mean_square(out), GIVES[placement][1](int(name.split(".")[1]) + 1)
        if abs(found / expected - 1) > OFF:
            raise _does_not_apply(f"{name} gives tokens the mean square {found:.4g} instead of {expected:.4g}")


def _does_not_apply(reason: str) -> UserError:
    return UserError(
        f"study=decoder_stream: the law does not apply: {reason}; study.control=true measures all the same"
    )


def _other_weights(config: Config) -> str | None:
    options, placement = config["model"], config.choices["placement"]
    if placement not in GIVES:
        return f"placement={placement} is none of {', '.join(GIVES)}"
    if config.choices["init"] != "default":
        return f"init={config.choices['init']} draws other weights than N(0, model.init_std^2)"
    if options["feed_forward"] != "gelu" or options["dropout"]:
        return "it is of model.feed_forward=gelu and model.dropout=0"
    return None


def mean_square(x: Tensor) -> float:
    return float(x.double().square().mean())
