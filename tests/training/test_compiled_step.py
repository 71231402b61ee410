"""`compile=true`: forward and backward as one compiled function, with the curves of the ordinary step."""

import copy
from functools import partial
from itertools import repeat

import pytest
import torch
from companions import KINDS
from small_fits import CNN, MLP, compare, losses_and_weights
from torch import nn
from torch._dynamo.utils import counters

from normexp.config import option, options
from normexp.training import bfloat16
from normexp.training.compiled import compile_fullgraph
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.task import Classification

COMPILE = torch.compile
ONE_LAYER = {MLP: (*MLP[:1], "model.widths=[16]"), CNN: (*CNN[:1], "model.widths=[8]")}
FEW_VALUES = {  # what 16 values per example allow
    "group": ["norm.num_groups=4"],
    "evonorm_s0": ["norm.num_groups=4"],
    "decorrelated": ["norm.group_size=4"],
}


@pytest.fixture(autouse=True)
def graphs_of_plain_torch(monkeypatch):
    """Compile to torch's own operators: machine code takes seconds."""
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "trace_autograd_ops"), reason="torch leaves backward outside")
def test_compiled_step_is_one_graph_and_learns_the_same():
    counters.clear()
    compare("compile=true", *MLP, "norm=batch", "clip_norm=0.1")
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


@pytest.mark.parametrize("there", [True, False])
def test_the_compiler_is_told_to_keep_what_is_rounded_by_hand(monkeypatch, there):
    """It leaves out a cast to bfloat16 and back: bf16 was in part float32 where a processor has no kernels for it."""
    told = []
    monkeypatch.setattr(bfloat16, "has_bfloat16_kernels", lambda device: there)
    monkeypatch.setattr(torch, "compile", lambda function, **settings: told.append(settings) or function)
    for precision in ("bf16", "fp32"):
        losses_and_weights(*MLP, "compile=true", f"precision={precision}", "steps=1")
    options = [settings["options"] for settings in told if settings.get("fullgraph")]  # torch compiles parts of its own
    assert options == [None if there else {"emulate_precision_casts": True}, None]


@pytest.mark.slow
def test_compiled_bfloat16_by_hand_is_that_of_the_ordinary_step(monkeypatch):
    """To the bit but for batch normalization, which the compiler takes apart; without it all is equal."""
    monkeypatch.setattr(bfloat16, "has_bfloat16_kernels", lambda device: False)
    monkeypatch.setattr(torch, "compile", COMPILE)
    words = (*MLP, "precision=bf16", "norm=none", "steps=2")
    (losses, weights), (expected, expected_weights) = (
        losses_and_weights(*words, compiled) for compiled in ("compile=true", "compile=false")
    )
    torch.testing.assert_close(losses, expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(weights, expected_weights, rtol=1e-5, atol=1e-7)


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
    """In two layers for one scheme of each kind, in one for the others: every layer takes as long to compile."""
    if model is MLP and option("norm", norm).get("_needs_") == "maps":
        pytest.skip("it needs positions")
    words = model if norm in KINDS else ONE_LAYER[model]
    compare("compile=true", *words, f"norm={norm}", *FEW_VALUES.get(norm, []))
