"""Singular values of the Jacobians of a network's blocks."""

import math

import numpy as np
import pytest
import torch
from one_line import one_line_error
from situations import built, facing, found
from torch import nn

from normexp.probes.jacobian import Jacobian
from normexp.probes.layers import blocks


def test_jacobian_of_a_linear_network_is_the_product_of_its_weights():
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(a, b)) for a, b in ((7, 5), (5, 6), (6, 4))))
    product = np.linalg.multi_dot([block[0].weight.detach().numpy().astype(np.float64) for block in reversed(model)])
    values = found(Jacobian(count=3), facing(model, torch.randn(9, 7)))
    for name, matrix in (("network", product), ("1", model[1][0].weight.detach().numpy())):
        singular = np.linalg.svd(matrix, compute_uv=False)
        expected = {"min": singular.min(), "max": singular.max(), "median": np.median(singular)}
        expected |= {"mean_square": np.mean(singular**2), "row_mean_square": (matrix**2).sum(1).mean()}
        assert {s: v for (layer, s), v in values.items() if layer == name} == pytest.approx(expected, rel=1e-4)
    assert {layer for layer, _ in values} == {"0", "1", "2", "network"}


def test_jacobian_of_batch_normalization_is_that_of_its_fixed_map():
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4))
    block[1].running_var = torch.tensor([0.1, 1.0, 4.0, 9.0])
    block[1].weight.data = torch.tensor([1.0, 2.0, 0.5, 3.0])
    fixed = (torch.diag(block[1].weight / (block[1].running_var + 1e-5).sqrt()) @ block[0].weight).detach()
    values = found(Jacobian(), facing(nn.Sequential(block), torch.randn(6, 4)))
    assert values["0", "max"] == pytest.approx(float(torch.linalg.matrix_norm(fixed, 2)), rel=1e-4)
    assert values["0", "mean_square"] == pytest.approx(float(fixed.square().sum()) / 4, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [("dataset=cloze",), ("dataset=text", "model=gpt", "model.layers=1", "model.width=16")]
)
def test_jacobian_of_a_network_that_reads_numbers_of_words_is_one_line(cli, results, data):
    words = ("probe=jacobian", "inputs=none", "batch_size=8", "steps=1", "device=cpu", "threads=1")
    status, _, stderr = cli("run", *words, *data, f"results_dir={results}", "--quiet")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "numbers of words or characters, which have no derivative" in stderr


def test_jacobian_at_whole_numbers_is_one_line():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2))
    with one_line_error("have no derivative"):
        Jacobian().measure(facing(model, torch.zeros(4, 2, dtype=torch.int64)))


def test_jacobian_differs_from_example_to_example():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
    model[0].weight.data = torch.eye(2)
    x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])  # Jacobians of rank 2, 1 and 0
    values = found(Jacobian(), facing(model, x))
    assert values["network", "mean_square"] == pytest.approx(3 / 6)
    assert (values["network", "min"], values["network", "max"]) == (0, 1)


def test_jacobian_of_a_large_block_is_estimated_without_bias():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(2, 5, 3, padding=1), nn.Tanh()), torch.randn(4, 2, 6, 6)
    exact = found(Jacobian(), facing(model, x))
    estimated = found(Jacobian(entries=0, projections=2000), facing(model, x))
    assert {statistic for _, statistic in estimated} == {"mean_square", "row_mean_square"}
    for statistic in ("mean_square", "row_mean_square"):
        assert estimated["network", statistic] == pytest.approx(exact["network", statistic], rel=0.02)
        assert estimated["network", statistic] != exact["network", statistic]
    assert exact["network", "mean_square"] == pytest.approx(exact["network", "row_mean_square"] * 5 / 2)


def test_jacobian_of_a_normprop_layer_is_near_the_constant_of_the_paper():
    overrides = ("model=mlp", "norm=normprop", "norm.jacobian=none", "model.widths=[400,400]", "steps=1")
    components = built(*overrides)
    values = found(Jacobian(count=4), facing(components.model, torch.randn(4, 1, 8, 8)))
    assert values["hidden.1", "row_mean_square"] == pytest.approx(math.pi / (math.pi - 1), rel=0.1)


def test_jacobian_blocks_are_a_layer_and_what_follows_it():
    block = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    model = nn.Sequential(
        block, nn.Sequential(nn.ReLU(), nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 3))
    )
    assert list(blocks(model)) == ["0", "1.1", "2.0", "2.1"]
    assert blocks(model)["0"] is block
