"""What a module of the user's own remembers, and no checkpoint keeps, is found by a new copy with the checkpoint."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from normexp.training.checks.unkept_state import check_state


class Own(nn.Module):
    """A layer of two features whose forward() is one of those below."""

    def __init__(self, forward):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(2))
        self.register_buffer("kept", torch.zeros(1))
        self.own, self.seen, self.started = forward, SimpleNamespace(mean=torch.zeros(2), array=np.zeros(2)), False

    def forward(self, x):
        return self.own(self, x)


def starts_once(self, x):
    if not self.started:
        self.gain.data = 1 / x.std(0)
        self.started = True
    return x * self.gain


def array(self, x):
    if self.training:
        self.seen.array = 0.9 * self.seen.array + 0.1 * x.mean(0).numpy()
        return x - x.mean(0)
    return x - torch.from_numpy(self.seen.array).float()


def namespace(self, x):
    self.seen.mean = self.seen.mean.lerp(x.mean(0), 0.1)
    return x - (x.mean(0) if self.training else self.seen.mean)


def in_evaluation(self, x):
    if not self.training:
        self.seen.mean = self.seen.mean.lerp(x.mean(0), 0.1)
    return x - self.seen.mean


def into_a_buffer(self, x):
    self.seen.array = self.seen.array + 1
    self.kept.lerp_(x.mean(), 1 / float(self.seen.array[0]))
    return x - (x.mean() if self.training else self.kept)


def of_the_batch(self, x):
    self.kept = x.detach().mean(1)
    return x


def of_the_batch_in_evaluation(self, x):
    return x if self.training else of_the_batch(self, x)


def of_another_type(self, x):
    self.kept = self.kept.double()
    return x


def running(self, x):
    if self.training:
        self.kept.lerp_(x.mean(), 0.1)
    return x + self.gain * torch.rand_like(x) - (x.mean() if self.training else self.kept)


def checked(forward, kept=None):
    model = Own(forward)
    model.kept = model.kept if kept is None else kept
    trial = copy.deepcopy(model)
    with torch.no_grad():
        trial(torch.rand(8, 2))
        check_state(model, trial, torch.rand(8, 2))
    return trial


LOST = {
    "a start that is remembered": (starts_once, "continued from a checkpoint it has other outputs or buffers in"),
    "an array": (array, "continued from a checkpoint it has other outputs or buffers in evaluation; a checkpoint"),
    "a namespace": (
        namespace,
        "continued from a checkpoint it has other outputs or buffers in evaluation; a checkpoint",
    ),
    "evaluation alone": (
        in_evaluation,
        "continued from a checkpoint it has other outputs or buffers in evaluation; a checkpoint",
    ),
    "what a buffer is made of": (into_a_buffer, "continued from a checkpoint it has other outputs or buffers in"),
    "a shape of the batch": (of_the_batch, r"makes its kept, float32 \[1\], float32 \[8\] when it is called"),
    "in evaluation": (of_the_batch_in_evaluation, r"makes its kept, float32 \[1\], float32 \[8\] when it is"),
    "another type": (of_another_type, r"makes its kept, float32 \[1\], float64 \[1\] when it is called"),
}


@pytest.mark.parametrize(("forward", "said"), LOST.values(), ids=LOST)
def test_a_module_that_a_checkpoint_could_not_continue_is_refused(forward, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        checked(forward)


@pytest.mark.parametrize(
    ("kept", "kind"),
    [(torch.zeros(1).cdouble(), "torch.complex128"), (torch.zeros(1).to_sparse(), "torch.float32, torch.sparse_coo")],
    ids=["numbers", "layout"],
)
def test_a_tensor_that_no_checkpoint_can_hold_is_refused(kept, kind):
    with pytest.raises(ValueError, match=f"^remembers kept of type {kind}.*, which no checkpoint can hold"):
        checked(lambda self, x: x, kept)


def test_running_statistics_in_a_buffer_are_taken_and_the_copy_goes_on_in_training():
    assert checked(running).training


def test_inputs_that_the_network_changes_are_named_and_not_called_a_state():
    with pytest.raises(ValueError, match=r"^changes its inputs in place, which are the data; return a new tensor$"):
        checked(lambda self, x: x.mul_(0.5) * self.gain)


class Forgets(Own):
    def state_dict(self, *arguments, **options):
        return {name: value for name, value in super().state_dict(*arguments, **options).items() if name != "gain"}


def test_a_parameter_that_state_dict_leaves_out_is_named():
    network = Forgets(lambda self, x: x * self.gain)
    with pytest.raises(ValueError, match=r"^its state_dict\(\) leaves out the parameter gain; a checkpoint keeps"):
        check_state(network, copy.deepcopy(network), torch.zeros(8, 2))


class Still(Own):
    def train(self, mode=True):
        super().train(mode)  # and forgets to return the network


def test_a_network_whose_train_returns_nothing_is_told_what_it_returns():
    network = Still(lambda self, x: x * self.gain)
    with pytest.raises(ValueError, match=r"^its train\(\) returns a NoneType, and must return the network itself"):
        check_state(network, copy.deepcopy(network), torch.zeros(8, 2))
