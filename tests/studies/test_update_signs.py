"""Signs of updates against gradients of autograd, one example at a time and in batches."""

import pytest
import torch
from torch import nn

from normexp.errors import UserError
from normexp.studies.arithmetic.update_signs import one_sign, share_of_layers, share_of_units, updates
from normexp.training.task import Regression

TASK = Regression()


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Sigmoid(), nn.Linear(8, 1))


def test_updates_are_minus_the_gradients_of_the_first_layer():
    model, x, y = network(), torch.randn(6, 3), torch.randn(6, 1)
    found = list(updates(model, TASK, x, y, size=3))
    TASK.loss(model(x[3:]), y[3:]).backward()
    torch.testing.assert_close(found[1], -model[0].weight.grad)
    assert len(found) == 2


def test_positive_inputs_move_all_weights_of_a_unit_in_one_direction():
    model, x, y = network(), torch.rand(40, 3) + 0.1, torch.randn(40, 1)
    assert share_of_units(updates(model, TASK, x, y, size=1)) == 1
    assert share_of_units(updates(model, TASK, x - 0.6, y, size=1)) < 0.6
    assert share_of_layers(updates(model, TASK, x, y, size=1)) < 1


def test_one_sign_of_a_unit():
    update = torch.tensor([[1.0, 2.0, 0.0], [1.0, -1.0, 0.0], [-1.0, -2.0, -3.0]])
    assert one_sign(update).tolist() == [True, False, True]


def test_a_convolution_is_refused_in_one_line():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.LazyLinear(1))
    with pytest.raises(UserError, match="use model=mlp"):
        list(updates(model, TASK, torch.randn(2, 1, 5, 5), torch.randn(2, 1), 1))
