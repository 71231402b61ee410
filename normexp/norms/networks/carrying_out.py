"""A network changed as its conversion to a scheme was found to be."""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from normexp.norms.networks.conversion import Conversion
from normexp.norms.networks.dataflow import Dataflow
from normexp.norms.networks.modules import LAYERS, NORMS, adds_bias
from normexp.norms.networks.replacement import add_biases, drop_bias, swap
from normexp.norms.networks.torch_weights import set_free
from normexp.torch_modes import as_it_was_made, made_on_cpu


@made_on_cpu()
def carry_out(plan: Conversion) -> nn.Module:
    """Change the network and return it; its `not_converted` lists what is left as it was."""
    with as_it_was_made(plan.model):
        for layer in plan.freed:
            set_free(layer)
        _fit_biases(plan)
        swap(plan.model, plan.new)
        swap(plan.model, {layer: plan.norm.parametrize(layer) for layer in plan.reparametrized})
    plan.model.not_converted = plan.left  # type: ignore[assignment]
    return plan.model


def _fit_biases(plan: Conversion) -> None:
    """Give layers the bias that goes with the old normalizations; take away what the scheme's cancel."""
    if plan.normalizations and not plan.effect.normalizes:
        add_biases(layer for layer in plan.layers if layer.bias is None and adds_bias(layer))
    elif plan.normalizations and plan.norm.cancels_bias:
        _drop_cancelled_biases(plan)
    elif plan.norm.cancels_bias:
        for layer in filter(adds_bias, set(plan.layers) & set(plan.new)):
            layer.register_parameter("bias", None)


def _drop_cancelled_biases(plan: Conversion) -> None:
    """Drop the bias of a layer whose output a normalization in an nn.Sequential alone gets; any other stays."""
    found = {
        layer: after
        for module in plan.names
        if isinstance(module, nn.Sequential)
        for layer, after in pairwise(module)
        if after in plan.new and isinstance(after, NORMS) and isinstance(layer, LAYERS) and layer.bias is not None
    }
    for layer, after in found.items():
        if isinstance(plan.reading, Dataflow) and plan.reading.only_feeds(layer, after) and adds_bias(layer):
            drop_bias(layer, after, plan.new[after])
