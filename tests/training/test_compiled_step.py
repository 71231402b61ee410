"""`compile=true`: forward and backward as one compiled function, with the curves of the ordinary step."""

from __future__ import annotations

import copy
from functools import partial
from itertools import repeat

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from normexp.config import compose, options
from normexp.config.instantiate import instantiate
from normexp.errors import Impossible, UserError
from normexp.training.build import build, initialize_from_data
from normexp.training.compiled import compile_fullgraph
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.process import process_settings
from normexp.training.task import Classification

DIGITS = ("dataset=digits", "dataset.subset=200", "batch_size=16", "steps=4", "threads=1", "optim.lr=0.01")
MLP, CNN = ("model=mlp", "model.widths=[16,16]"), ("model=cnn", "model.widths=[8,8]")


@pytest.fixture(autouse=True)
def graphs_of_plain_torch(monkeypatch):
    """Compile to torch's own operators: machine code takes seconds."""
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))


def losses_and_weights(*words):
    config = compose([*DIGITS, *words])
    with process_settings(compiled=config["compile"]):
        components = build(config, instantiate(config["dataset"]).load(0))
        initialize_from_data(components)
        losses = torch.stack([update.loss for update in fit(components)])
    return losses, [*components.model.parameters(), *components.model.buffers()]


def compare(*words):
    ordinary, compiled = losses_and_weights(*words), losses_and_weights(*words, "compile=true")
    torch.testing.assert_close(compiled[0], ordinary[0], rtol=1e-5, atol=1e-6)
    for found, expected in zip(compiled[1], ordinary[1], strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "trace_autograd_ops"), reason="torch leaves backward outside")
def test_compiled_step_is_one_graph_and_learns_the_same():
    counters.clear()
    compare(*MLP, "norm=batch", "clip_norm=0.1")
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]


class Break(nn.Module):
    """What the compiler cannot put into one graph with what comes before and after."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x.tanh()


@pytest.mark.filterwarnings("ignore")  # as in a run: a warning that is raised would keep the compiler from its mistake
def test_compiled_step_is_never_half_a_graph():
    """Where a graph breaks before `backward`, torch leaves out the gradients."""
    first = nn.Sequential(nn.Linear(3, 3), Break(), nn.Linear(3, 3))
    networks = first, copy.deepcopy(first)
    for network, compiled in zip(networks, (False, True), strict=True):
        components = Components(
            model=network,
            task=Classification(),
            optimizer=torch.optim.SGD(network.parameters(), lr=0.5),
            batches=None,
            steps=2,
            compiled=network if compiled else None,
        )
        for _ in fit(components, batches=repeat((torch.eye(3), torch.arange(3)))):
            pass
        assert all(parameter.grad is not None for parameter in network.parameters())
    for found, expected in zip(networks[1].parameters(), networks[0].parameters(), strict=True):
        assert torch.equal(found, expected)


def test_compiled_step_lets_mistakes_through():
    def gradient(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raise ValueError("no such layer")

    with pytest.raises(ValueError, match="no such layer"):
        compile_fullgraph(gradient)(torch.zeros(1), torch.zeros(1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [MLP, CNN], ids=["mlp", "cnn"])
@pytest.mark.parametrize("norm", options("norm"))
def test_compiled_step_learns_the_same_under_every_scheme(norm, model):
    try:
        compose([*DIGITS, *model, f"norm={norm}"])
        losses_and_weights(*model, f"norm={norm}")
    except (Impossible, UserError) as error:
        pytest.skip(str(error))
    compare(*model, f"norm={norm}")
