"""Muon for the matrices of a network's branches, AdamW for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from normexp.errors import UserError
from normexp.norms.base import weight_layers

MATRICES = "matrices"  # the key of a group of parameters: whether Muon moves it


class Muon(Optimizer):
    """torch's Muon on the weights of hidden linear layers, torch's AdamW on embeddings, gains, biases and the head.

    Muon moves a matrix by the orthogonal factor of its averaged gradient, scaled as `match_rms_adamw` says: by
    0.2 sqrt(max(rows, columns)), so that both optimizers take one rate.

    Args:
        params: groups as `groups_of` makes them.
        momentum, nesterov, ns_steps: of Muon.
        betas, eps: of AdamW.

    Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; the scale: Liu et al. 2025,
    arXiv:2502.16982.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float = 0.001,
        weight_decay: float = 0.01,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_steps: int = 5,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, MATRICES: False})
        for_muon = {"momentum": momentum, "nesterov": nesterov, "ns_steps": ns_steps}

        def inner(matrices: bool, weights: list[Tensor]) -> Optimizer:
            if not matrices:
                return AdamW(weights, lr=lr, weight_decay=weight_decay, betas=betas, eps=eps)
            how: dict[str, Any] = {**for_muon, "adjust_lr_fn": "match_rms_adamw"}
            return torch.optim.Muon(weights, lr=lr, weight_decay=weight_decay, **how)

        self.inner = [inner(group[MATRICES], group["params"]) for group in self.param_groups]

    @staticmethod
    def groups_of(model: nn.Module) -> list[dict[str, Any]]:
        """Return a network's parameters as two groups: hidden matrices, and the rest.

        Hidden matrices are the parameters of two dimensions that the weight of a linear layer is, or is computed from,
        but for those of what turns features into outputs: `head` or `output`, and where nothing is called so, the
        last layer. A decoder whose output layer is its embedding has no such matrix, so that all its layers are hidden.

        Raises: UserError for a network without any, which AdamW alone would train under Muon's name.
        """
        heads = {id(parameter) for parameter in head_parameters(model)}
        found = {id(parameter) for layer in weight_layers(model) for parameter in matrices_of(layer)} - heads
        if not found:
            raise UserError(
                "optim=muon: the network has no hidden linear layer, whose weights it moves, so that AdamW would "
                "do all; use optim=adamw"
            )
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        groups: Mapping[bool, list[nn.Parameter]] = {
            kind: [parameter for parameter in parameters if (id(parameter) in found) == kind] for kind in (True, False)
        }
        return [{"params": some, MATRICES: kind} for kind, some in groups.items() if some]

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Let each optimizer do its step, with the rates that stand in the groups of this one."""
        for group, optimizer in zip(self.param_groups, self.inner, strict=True):
            optimizer.state = self.state  # one state, which is saved and restored
            own = optimizer.param_groups[0]
            own.update({key: group[key] for key in ("lr", "weight_decay", "betas") if key in group and key in own})
            optimizer.step()


def matrices_of(layer: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the parameters behind a linear layer's weight that have its size; those of convolutions are no matrices."""
    if isinstance(layer, nn.Linear):
        for parameter in layer.parameters():
            if parameter.dim() == 2 and min(parameter.shape) > 1:
                yield parameter


def head_parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the parameters of what turns features into outputs: `head` or `output`, else the last layer.

    A head that is None is no layer: an embedding turns features into outputs, and the last layer is a hidden one.
    """
    named = [getattr(model, name) for name in ("head", "output") if hasattr(model, name)]
    parts = [part for part in named if part is None or isinstance(part, nn.Module)] or weight_layers(model)[-1:]
    for part in parts:
        if part is not None:
            yield from part.parameters()
