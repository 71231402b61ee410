"""Runs of one shape as one batched program: their weights are rows of stacked tensors, their steps one step.

A core that trains a small network spends its time between operators. Here one operator serves all runs: the network is
called once (layer by layer in `normexp.training.rows`, or as a whole under `torch.vmap`), the optimizer moves all
weights at once. Seeds and rates may differ. Every row is what its run would be alone, but for rounding.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from normexp.training.batches import EVALUATION_BATCH, Batch, Examples, sequential_batches
from normexp.training.compiled import compile_fullgraph
from normexp.training.components import Components
from normexp.training.fit import set_hyperparameters
from normexp.training.process import optimizer_step
from normexp.training.rows import call, chain


class Stacked:
    """The batched program of several runs, which are initialized, or all continued from one step.

    From now on the parameters and buffers of each run's own network are views of a row: what looks at a run alone
    (a checkpoint, estimates from training inputs) sees it as it is.
    """

    def __init__(self, runs: Sequence[Components]) -> None:
        first, self.runs = runs[0], runs
        self.model = copy.deepcopy(first.model)  # the form alone: its own numbers are never used
        self.parameters, self.buffers = stack_module_state([run.model for run in runs])
        self.chain = chain(self.model, self.parameters, self.buffers)
        for row, run in enumerate(runs):
            for name, tensor in itertools.chain(run.model.named_parameters(), run.model.named_buffers()):
                tensor.data = (self.parameters if name in self.parameters else self.buffers)[name].data[row]
        rates = torch.tensor([run.optimizer.param_groups[0]["lr"] for run in runs], dtype=torch.float64)
        self.leader = runs[int(rates.argmax())]
        self.shares = None if bool((rates == rates[0]).all()) else (rates / rates.max()).to(first.device)
        self.optimizer = copy.deepcopy(self.leader.optimizer)
        self.optimizer.param_groups[0]["params"] = list(self.parameters.values())
        self._join_optimizers()
        self._update = optimizer_step(self.optimizer)
        self.gradient = self._gradient if first.compiled is None else compile_fullgraph(self._gradient)

    def step(self, x: Tensor, y: Tensor, done: int) -> tuple[Tensor, Tensor]:
        """Do update `done` of every run on x: (K, N, *) and y: (K, N, *); return losses and num_correct, (K,) each."""
        set_hyperparameters(self.optimizer, self.leader.schedule(done))
        for parameter in self.parameters.values():
            parameter.grad = None
        losses, num_correct = self.gradient(x, y)
        before = [] if self.shares is None else [parameter.detach().clone() for parameter in self.parameters.values()]
        self._update()
        self._scale_updates(before)
        return losses, num_correct

    @torch.no_grad()
    def _scale_updates(self, before: Sequence[Tensor]) -> None:
        """Leave each run its share of an update that was made with the largest rate: updates are linear in the rate."""
        for parameter, old in zip(self.parameters.values(), before, strict=False):
            assert self.shares is not None
            share = self.shares.to(old.dtype).view(-1, *[1] * (old.dim() - 1))
            parameter.copy_(torch.lerp(old, parameter, share))

    def _gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        losses, num_correct = self._outcomes(x, y, "mean")
        losses.sum().backward()  # the runs share nothing: each gets the gradient of its own loss
        return losses.detach(), num_correct.detach()

    def _outcomes(self, x: Tensor, y: Tensor, reduction: str, shared: bool = False) -> tuple[Tensor, Tensor]:
        """Return losses and num_correct, (K,) each; x and y are those of all runs where they are shared."""
        outputs, count = self._outputs(x, shared), len(self.runs)
        y = y.expand(count, *y.shape) if shared else y
        losses, num_correct = self.runs[0].task.of_each(outputs.flatten(0, 1), y.flatten(0, 1))
        losses = losses.view(count, -1)
        return losses.mean(1) if reduction == "mean" else losses.sum(1), num_correct.view(count, -1).sum(1)

    def _outputs(self, x: Tensor, shared: bool) -> Tensor:
        if self.chain is not None:
            return call(self.chain, x.expand(len(self.runs), *x.shape) if shared else x)

        def alone(parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor) -> Tensor:
            return functional_call(self.model, (parameters, buffers), (x,))

        return vmap(alone, in_dims=(0, 0, None if shared else 0))(self.parameters, self.buffers, x)

    def batches(self, step: int = 0) -> Iterator[Batch]:
        """Yield x: (K, N, *) and y of step, step + 1, ...: every run's batches in its own order."""
        streams = [run.batches for run in self.runs]
        examples, size = streams[0].examples, streams[0].batch_size
        if any(stream.examples is not examples for stream in streams) or examples.crop or examples.flip:
            yield from _side_by_side(stream.from_step(step) for stream in streams)
            return
        first, skip = divmod(step, streams[0].steps_per_epoch)
        for epoch in itertools.count(first):
            orders = torch.stack([stream.order(epoch) for stream in streams])
            for part in orders.split(size, 1)[skip : streams[0].steps_per_epoch]:
                x, y = examples.take(part.flatten())
                yield x.unflatten(0, part.shape), y.unflatten(0, part.shape)
            skip = 0

    @torch.no_grad()
    def evaluate(self, split: str) -> list[dict[str, float]]:
        """Return every run's mean loss and metric over a split, as `normexp.training.metrics.evaluate` does alone."""
        examples = [run.evaluated[split] for run in self.runs]
        self.model.eval()
        found = [self._outcomes(x, y, "sum", shared) for x, y, shared in _evaluated(examples)]
        self.model.train()
        losses, num_correct = (torch.stack(each).sum(0) for each in zip(*found, strict=True))
        count = len(examples[0])
        outcomes = zip(self.runs, losses.tolist(), num_correct.tolist(), strict=True)
        return [run.task.metrics(loss / count, correct / count) for run, loss, correct in outcomes]  # in its own units

    def part_optimizers(self) -> None:
        """Give every run's own optimizer its part of what the stacked one remembers, as a checkpoint wants it."""
        for row, run in enumerate(self.runs):
            own = run.optimizer.param_groups[0]["params"]
            for parameter, stacked in zip(own, self.parameters.values(), strict=True):
                state = self.optimizer.state[stacked]
                run.optimizer.state[parameter] = {**state, **{name: rows[row] for name, rows in _of_weights(state)}}

    def _join_optimizers(self) -> None:
        """Have the stacked optimizer remember what those of runs that are continued do."""
        self.optimizer.state.clear()
        own = [run.optimizer.param_groups[0]["params"] for run in self.runs if run.optimizer.state]
        for stacked, *parameters in zip(self.parameters.values(), *own, strict=True) if own else ():
            states = [run.optimizer.state[each] for run, each in zip(self.runs, parameters, strict=True)]
            joined = {name: torch.stack([state[name] for state in states]) for name, _ in _of_weights(states[0])}
            self.optimizer.state[stacked] = {**copy.deepcopy(states[0]), **joined}


def _of_weights(state: dict[str, object]) -> list[tuple[str, Tensor]]:
    """Return what an optimizer remembers of every weight; the rest is the same for all runs."""
    return [(name, value) for name, value in state.items() if isinstance(value, Tensor) and value.dim()]


def _evaluated(examples: Sequence[Examples]) -> Iterator[tuple[Tensor, Tensor, bool]]:
    """Yield the batches of an evaluation, and whether they are the same for all runs."""
    if all(own is examples[0] for own in examples):
        yield from ((x, y, True) for x, y in sequential_batches(examples[0], EVALUATION_BATCH))
        return
    for x, y in _side_by_side(sequential_batches(own, EVALUATION_BATCH) for own in examples):
        yield x, y, False


def _side_by_side(streams: Iterable[Iterator[Batch]]) -> Iterator[Batch]:
    """Yield the batches of several runs as one, the runs first."""
    for parts in zip(*streams, strict=True):
        xs, ys = zip(*parts, strict=True)
        yield torch.stack(xs), torch.stack(ys)
