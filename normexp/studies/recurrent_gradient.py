"""What becomes of the loss gradient on its way back through the time steps of a recurrent network."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.models.lstm_classifier import LSTMClassifier
from normexp.models.recurrent.unroll import pack, starting, unroll
from normexp.seeding import seeded
from normexp.studies.arithmetic.logarithms import log10
from normexp.studies.base import Outcome, Row, Study, StudyContext


@dataclass(frozen=True, kw_only=True)
class RecurrentGradient(Study):
    """dL/dh_t at every time step t: one forward and one backward pass at initialization, in training mode.

    L is the mean loss of the first training batch, h_t (N, H) the state h of all its sequences after step t. dL/dh_t
    takes all later steps into account; what an LSTM hands on in c_t, beside h_t, is no part of it. Norms are
    Euclidean, over the whole (N, H). All in float64, which holds numbers down to 1e-308: in float32 a number below
    1e-45 is 0, and so is the square of one below 1e-22.

    Args:
        every: a row for every so many time steps, counted back from the last.

    Raises: UserError for a network that is not recurrent, and for sequences with a mask: they end at different steps.

    Source: Cooijmans et al. 2017, arXiv:1603.09025, section 4, figure of the gradient propagation of an RNN.
    """

    every: int = 1

    def measure(self, context: StudyContext) -> Outcome:
        model = _recurrent(context)
        model.double()
        x, y = context.components.batches.first(context.config["batch_size"])
        with seeded(context.seed, "noise"):
            sequences = pack(x.double())
            states = unroll(model.cell, sequences, starting(model.cell, sequences))
        loss = context.components.task.loss(model.output(states[-1]), y)
        gradients = torch.autograd.grad(loss, states)
        last = log10(float(gradients[-1].norm()))
        steps = range(len(states), 0, -self.every)
        return Outcome([row(t, states[t - 1], gradients[t - 1], last) for t in reversed(steps)])


def row(t: int, state: Tensor, gradient: Tensor, last: float) -> Row:
    """Return what there is to say of step t, counted from 1.

    Args:
        last: the logarithm of the gradient's norm at the last step.
    """
    norm = float(gradient.norm())
    return {
        "step": t,
        "gradient_norm": norm,
        "log_gradient_norm": log10(norm),
        "decades_lost": last - log10(norm),
        "derivative": float((1 - state.detach().square()).mean()),
    }


def _recurrent(context: StudyContext) -> LSTMClassifier:
    chosen, model = context.config.choices["model"], context.components.model
    if not isinstance(model, LSTMClassifier):
        raise UserError(f"study=recurrent_gradient: model={chosen} has no time steps; use model=lstm_classifier")
    if model.masked:
        raise UserError("study=recurrent_gradient: model.masked=true: sequences must be equally long; use false")
    return model
