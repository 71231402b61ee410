"""A network that predicts the next token must not see it: no output may depend on a later token."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from normexp.data.base import Data
from normexp.training.checks.unkept_state import called

LOOKED_AT = 8  # examples that tell whether targets are the next inputs


def check_order(trial: nn.Module, data: Data) -> None:
    """Raise ValueError where outputs in training change with a later token, which is the target of one of them.

    Args:
        trial: a copy, whose parameters are changed here: a branch that begins as zeros would hide what it sees.
    """
    if not _predicts_next(data):
        return
    with torch.no_grad():
        for parameter in trial.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    kept = {name: value.clone() for name, value in trial.state_dict().items()}
    tokens = torch.randint(2, (2, *data.input_shape)).float()
    other = torch.cat([tokens[:, :-1], 1 - tokens[:, -1:]], 1)
    (first, _), (second, _) = (called(trial, each, kept) for each in (tokens, other))
    assert isinstance(first, Tensor)
    assert isinstance(second, Tensor)
    if not torch.allclose(first[:, :-1], second[:, :-1], rtol=1e-4, atol=1e-5):
        raise ValueError(
            "the output of a position changes with later tokens, which it has to predict: statistics over positions, "
            "or attention without a mask"
        )


def _predicts_next(data: Data) -> bool:
    """Tell whether the targets of a text are its next tokens."""
    x, y = data.train.x[:LOOKED_AT], data.train.y[:LOOKED_AT]
    return data.task == "language" and x.shape == y.shape and np.array_equal(x[:, 1:], y[:, :-1])
