"""Which weights have a length that the network does not notice, and what that makes of the learning rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from normexp.diagnosis.batches import FirstOutput
from normexp.diagnosis.finding import NOTE, Finding
from normexp.probes.layers import free_weights
from normexp.probes.scale_free import Noticed, Usual, noticed
from normexp.records.waiting import Waiting

EXAMPLES = 16  # of a batch; what a normalization cancels it cancels in any batch


def weights(model: nn.Module, x: Tensor, rate: float | None, waiting: Waiting) -> dict[str, dict[str, float]]:
    """Return scale_change and squared_norm of every Linear and Conv weight.

    `scale_change` is ||y' - y|| / ||y|| of the outputs in train() where the weight is doubled. Below a hundredth the
    weight counts as scale-invariant, if the outputs notice its direction (`direction_change` is the same where half of
    its entries are negated) and its gradient at twice the length is half (`gradient_change` is by how much it is not).
    Then `effective_rate` is rate / ||w||^2, if there is a rate.
    """
    whole = FirstOutput(model)
    found, free = dict[str, dict[str, float]](), free_weights(whole)
    usual = Usual(whole, x[:EXAMPLES], free)
    for name, weight in free.items():
        waiting.at(f"weight {len(found) + 1} of {len(free)} is scaled")
        seen = noticed(usual, name)
        row = {"scale_change": seen.scale}
        if seen.direction is not None:
            row["direction_change"] = seen.direction
        if seen.gradient is not None:
            row["gradient_change"] = seen.gradient
        row["squared_norm"] = float(weight.units.square().sum())
        if rate is not None and seen.is_scale_invariant:
            row["effective_rate"] = rate / row["squared_norm"]
        found[name.removeprefix("network.")] = row
    return found


def is_half(model: nn.Module) -> bool:
    """Tell a network of which a parameter is in half precision: its rounding is larger than what an eps changes."""
    return any(each.dtype in (torch.float16, torch.bfloat16) for each in model.parameters())


def of_weights(model: nn.Module, found: Mapping[str, dict[str, float]]) -> Iterator[Finding]:
    """Yield what has to be known of the weights, measured or not."""
    if is_half(model):
        text = "no weight is measured, since rounding would pass for an effect; diagnose a copy, model.float()"
        yield Finding("half precision", "", text, NOTE)
    for name, row in found.items():
        if noticed_in(row).is_saturated:
            text = "twice the weight gives the same outputs, but not half the gradient: what follows saturates"
            yield Finding("saturated", name, text, NOTE)


def noticed_in(row: Mapping[str, float]) -> Noticed:
    """Return what a row says that the network notices of a weight."""
    return Noticed(row["scale_change"], row.get("direction_change"), row.get("gradient_change"))
