"""What every scheme owes its caller, whatever its formula: the clauses of normexp.norms.checks, and compilation."""

from copy import deepcopy

import pytest
import torch
from every_scheme import CHANNELS, CONFIGS, TESTED_WITH, instantiate, randomize
from torch import nn

from normexp.norms.checks.clause import Case
from normexp.norms.checks.testing import parametrize_with_checks


def case(scheme, **options):
    about = CONFIGS[scheme]
    exact = about.get("_gradient_") != "approximate"  # test_online.py holds that one to a loop over examples instead
    return Case(instantiate(about, **options), exact, about["_batch_statistics_"])


@parametrize_with_checks({scheme: case(scheme) for scheme in CONFIGS})
def test_contract(name, check):
    assert check() == ""


@parametrize_with_checks({scheme: case(scheme, **options) for scheme, options in TESTED_WITH.items()})
def test_contract_of_small_batches(name, check):
    assert check() == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_compiled_numbers_are_the_same(norm, memory_format):
    torch._dynamo.reset()
    block = randomize(norm.block(nn.Conv2d(3, CHANNELS, 3), nn.Tanh()).double())
    compiled = torch.compile(deepcopy(block), backend="aot_eager")  # a copy: the call changes running state
    x = (torch.randn(4, 3, 8, 8, dtype=torch.double) + 1).contiguous(memory_format=memory_format)
    results = []
    for each in (compiled, block):
        y = each(x)
        results.append([y, *torch.autograd.grad(y.square().sum(), list(each.parameters()))])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)
