"""Mixed precision on a processor without instructions for bfloat16 is that of one which has them."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.config import compose
from normexp.data.loading import load
from normexp.training import bfloat16
from normexp.training.bfloat16 import bfloat16_in_float32, has_bfloat16_kernels
from normexp.training.build import build
from normexp.training.fit import fit
from normexp.training.machine import processor

ROUNDING = 2.0**-8  # of a bfloat16 number
CALLS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "convolution": (lambda x, w, b: F.conv2d(x, w, b, padding=1), ((4, 8, 6, 6), (8, 8, 3, 3), (8,))),
    "of a module": (lambda x: seeded_layer()(x), ((4, 3, 9),)),
    "linear": (F.linear, ((40, 8), (9, 8), (9,))),
    "@": (lambda x, y: x @ y, ((40, 8), (8, 9))),
    "method": (lambda x, y: x.matmul(y), ((2, 40, 8), (2, 8, 9))),
    "keywords": (lambda x, y, z: torch.addmm(input=z, mat1=x, mat2=y), ((40, 8), (8, 9), (40, 9))),
    "einsum": (lambda x, y: torch.einsum("nij,njk->ik", x, y), ((3, 4, 8), (3, 8, 9))),
    "attention": (F.scaled_dot_product_attention, ((2, 2, 16, 8),) * 3),
    "attention of a module": (lambda x: attend(x), ((2, 16, 8),)),
    "two in a row": (lambda x, w: F.linear(F.gelu(F.linear(x, w)), w.T).softmax(-1), ((40, 8), (8, 8))),
}


def seeded_layer() -> nn.Module:
    torch.manual_seed(1)
    return nn.Conv1d(3, 4, 3, groups=1, stride=2)


def attend(x: Tensor) -> Tensor:
    torch.manual_seed(1)
    return nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x, need_weights=False)[0]


def autocast() -> torch.autocast:
    return torch.autocast("cpu", torch.bfloat16)


@pytest.mark.parametrize(("call", "shapes"), CALLS.values(), ids=CALLS)
def test_results_and_gradients_are_those_of_autocast_to_rounding(call, shapes):
    torch.manual_seed(0)
    leaves = [torch.randn(shape) for shape in shapes]
    (y, *gradients), (y32, *gradients32) = (outcome(call, leaves, way) for way in (autocast, bfloat16_in_float32))
    assert y32.dtype == y.dtype == torch.bfloat16
    assert [each.dtype for each in gradients32] == [each.dtype for each in gradients]
    for one, other in zip((y, *gradients), (y32, *gradients32), strict=True):
        # torch's kernels for processors without the instructions round sums, too
        torch.testing.assert_close(other.float(), one.float(), rtol=0, atol=8 * ROUNDING * float(one.abs().max()))


def outcome(call: Callable[..., Tensor], leaves: list[Tensor], way: Callable[[], object]) -> list[Tensor]:
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    with way():  # type: ignore[attr-defined]
        y = call(*leaves)
    weights = torch.linspace(-1, 1, y.numel()).view_as(y)
    return [y.detach(), *torch.autograd.grad((y.float() * weights).sum(), leaves)]


def test_a_product_is_exact_and_rounded_once():
    x, y = torch.tensor([[1 + 2.0**-7, 1.0]]), torch.tensor([[1 + 2.0**-7], [2.0**-9]])
    with bfloat16_in_float32():
        assert float(x @ y) == 1 + 2.0**-6  # (1 + 2^-7)^2 + 2^-9 rounded
        assert float((x + 2.0**-9) @ y) == float(x @ y)  # the factor was rounded before
    assert float(x @ y) == (1 + 2.0**-7) ** 2 + 2.0**-9


def test_what_autocast_leaves_alone_stays_as_it_is():
    x = torch.randn(4, 4)
    with bfloat16_in_float32():
        assert (x.double() @ x.double()).dtype == torch.float64
        assert (x.long() @ x.long()).dtype == torch.int64
        with torch.autocast("cpu", enabled=False):  # a scheme that needs its products in float32
            assert torch.equal(x @ x, x.mm(x))
            assert (x @ x).dtype == torch.float32
        assert (x + x).dtype == torch.float32
    assert torch.equal(x @ x, x.mm(x))
    assert not torch.is_autocast_enabled("cpu")


def test_a_run_takes_it_where_the_processor_has_no_instructions(monkeypatch):
    config = compose(["model=cnn", "precision=bf16", "steps=4", "batch_size=32"])
    losses = {}
    for there in (True, False):
        monkeypatch.setattr(bfloat16, "has_bfloat16_kernels", lambda device, there=there: there)
        components = build(config, load(config))
        assert (components.autocast is bfloat16_in_float32) is not there
        losses[there] = torch.stack([update.loss for update in fit(components) if update.loss is not None])
    torch.testing.assert_close(losses[False], losses[True], rtol=0.02, atol=0)


@pytest.mark.parametrize(
    ("kernels", "avx512", "bf16", "amx", "there"),
    [
        (False, False, False, False, False),  # AVX2
        (True, True, False, False, False),  # AVX-512 of the first generations
        (True, True, True, False, True),
        (True, True, False, True, True),
        (True, False, False, False, True),  # ARM
        (False, True, True, True, False),  # a torch without oneDNN
    ],
)
def test_instructions_and_kernels_are_needed(monkeypatch, kernels, avx512, bf16, amx, there):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: kernels)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: kernels)
    for name, has in {"avx512": avx512, "avx512_bf16": bf16, "amx_tile": amx}.items():
        monkeypatch.setattr(torch.cpu, f"_is_{name}_supported", lambda has=has: has)
    assert has_bfloat16_kernels.__wrapped__(torch.device("cpu")) is there
    assert has_bfloat16_kernels.__wrapped__(torch.device("cuda"))


@pytest.mark.parametrize("there", [True, False])
def test_a_run_says_that_it_is_no_faster(cli, results, monkeypatch, there: bool):
    monkeypatch.setattr(bfloat16, "has_bfloat16_kernels", lambda device: there)
    words = ("model=linear", "precision=bf16", "steps=2", "device=cpu", f"results_dir={results}")
    status, _, said = cli("run", *words)
    assert status == 0
    assert ("no faster than precision=fp32" in said) is not there


def test_the_record_says_how_products_are_taken(monkeypatch):
    for there, said in ((True, "kernels"), (False, "rounded, in float32")):
        monkeypatch.setattr(processor, "has_bfloat16_kernels", lambda device, there=there: there)
        assert processor.describe_arithmetic.__wrapped__()["bfloat16"] == said
