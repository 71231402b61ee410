"""`normexp bench roofline`: FLOPs and bytes by hand, every operator in a group, no time."""

import time
from dataclasses import replace

import pytest
import torch
from torch import nn

from normexp.bench.operators import (
    ACTIVATION,
    CONVOLUTION,
    DATA,
    LOSS,
    NORM,
    OPTIMIZER,
    OTHER,
    POOLING,
    PRODUCT,
    Call,
    Recording,
)  # fmt: skip
from normexp.bench.suites.roofline import (
    BETWEEN,
    Machine,
    Step,
    by_group,
    counted_updates,
    measured,
    quietest,
    result,
)  # fmt: skip
from normexp.bench.work import Work
from normexp.norms import RMSNorm
from normexp.training.build import build

DIGITS = ("dataset=digits", "model=cnn", "model.widths=[8,8]", "batch_size=8", "threads=1")


def recorded(model: nn.Module, x: torch.Tensor) -> list[Call]:
    with Recording(model) as recording:
        model(x)
    return recording.calls


def test_linear_layer_has_the_flops_and_bytes_of_its_product():
    (call,) = recorded(nn.Linear(3, 5), torch.ones(7, 3))
    assert (call.name, call.group) == ("addmm", PRODUCT)
    assert call.flops == 2 * 7 * 3 * 5
    assert call.bytes == 4 * (7 * 3 + 3 * 5 + 5 + 7 * 5)  # x, weight, bias, y
    assert call.seconds > 0


def test_backward_of_a_linear_layer_is_two_products():
    layer, x = nn.Linear(3, 5), torch.ones(7, 3, requires_grad=True)
    with Recording(layer) as recording:
        layer(x).sum().backward()
    assert sum(call.flops for call in recording.calls) == 3 * 2 * 7 * 3 * 5
    assert [call.group for call in recording.calls].count(PRODUCT) == 3


X, ROW = torch.ones(2, 3), torch.ones(1, 1).expand(2, 3)
MANY, PLACES = torch.ones(100, 3), torch.tensor([4, 7])
SGD = {"momentum": 0.0, "lr": 0.1, "weight_decay": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False}
BYTES = {
    "written in place": (lambda: X.add_(X), 3 * 24),
    "repeated by a stride of 0": (lambda: X + ROW, 24 + 4 + 24),
    "given back by a fused optimizer": (lambda: torch._fused_sgd_([X], [X], [], is_first_step=True, **SGD), 4 * 24),
    "a view": (lambda: X.view(6), 0),
    "allocated": (lambda: torch.empty_like(X), 0),
    "gathered": (lambda: torch.embedding(MANY, PLACES), 2 * 24),
}


@pytest.mark.parametrize("case", BYTES)
def test_bytes_are_those_of_what_lies_in_memory(case):
    function, expected = BYTES[case]
    with Recording(nn.Identity()) as recording:
        function()
    assert sum(call.bytes for call in recording.calls) == expected


def test_operators_of_a_scheme_are_normalization_and_the_same_outside_are_not():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 1), RMSNorm().normalization(4), nn.ReLU(), nn.MaxPool2d(2))
    with Recording(model) as recording:
        y = model(torch.randn(2, 3, 4, 4))
        (y.cumsum(0) * 2.0).sum().backward()
    groups = {(call.group, call.name) for call in recording.calls}
    assert {CONVOLUTION, NORM, ACTIVATION, POOLING, OTHER} == {group for group, _ in groups}
    assert {(OTHER, "cumsum"), (OTHER, "mul"), (NORM, "mul"), (CONVOLUTION, "convolution_backward")} <= groups
    assert not {"convolution", "relu", "max_pool2d_with_indices"} & {name for group, name in groups if group == NORM}


def test_step_has_its_data_loss_and_optimizer():
    work = Work([*DIGITS, "norm=batch"])
    counted = counted_updates(build(work.config, work.data), time.perf_counter)
    seconds, calls = next(counted)
    assert sum(call.seconds for call in calls) < seconds
    names = {group: {call.name for call in calls if call.group == group} for group in (DATA, LOSS, OPTIMIZER)}
    assert "index" in names[DATA]
    assert {"nll_loss_forward", "nll_loss_backward"} <= names[LOSS]
    assert names[OPTIMIZER] >= {"_fused_sgd_"}
    counted.close()


MACHINE = Machine(flops=100.0, bandwidth=10.0)
CALLS = [
    Call("mm", PRODUCT, 3.0, 200, 10),
    Call("add", OTHER, 0.5, 0, 5),
    Call("frobnicate", OTHER, 1.5, 0, 10),
]


def test_possible_is_the_slower_of_arithmetic_and_memory():
    assert [MACHINE.possible(call) for call in CALLS] == [2.0, 0.5, 1.0]
    assert MACHINE.possible(replace(CALLS[0], bytes=50)) == 5.0


def test_groups_and_what_is_between_them_are_the_step():
    rows = by_group(Step(6.0, 9.0, CALLS), MACHINE)
    assert list(rows) == [PRODUCT, OTHER, BETWEEN, "step"]
    assert [row.seconds for row in rows.values()] == [3.0, 2.0, 1.0, 6.0]
    assert [row.possible for row in rows.values()] == [2.0, 1.5, 0.0, 3.5]


def test_table_names_the_operators_that_it_does_not_know():
    found = result("own", ["norm=batch"], MACHINE, Step(6.0, 9.0, CALLS), 1)
    assert "Other: frobnicate 1500.00 ms, add 500.00 ms." in found.notes
    assert found.cells[1] == ["other", "2", "2000.00", "33", "0.00", "0", "1500.00", "0.75", "8"]
    assert found.data["operators"][OTHER] == {"frobnicate": 1.5, "add": 0.5}


def test_quietest_takes_each_operator_where_it_was_fastest():
    slow, fast = (replace(CALLS[0], seconds=seconds) for seconds in (3.0, 1.0))
    steps = [[slow, CALLS[1]], [fast, replace(CALLS[1], seconds=4.0)], [CALLS[2], fast]]
    assert quietest([*steps, [slow, CALLS[1]]]) == [fast, CALLS[1]]


def test_roofline_of_a_small_network():
    work = Work([*DIGITS, "norm=batch"])
    machine, step = measured(build(work.config, work.data), bf16=False, rounds=1, steps=2)
    assert machine.flops > 0 < machine.bandwidth
    rows = by_group(step, machine)
    assert rows["step"].flops == rows[CONVOLUTION].flops + rows[PRODUCT].flops > 0
    assert sum(row.seconds for name, row in rows.items() if name != "step") == pytest.approx(step.seconds)
