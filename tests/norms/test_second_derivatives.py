"""The gradient of a block can be differentiated again, in its input and in everything that it learns."""

import pytest
import torch
from every_scheme import CONFIGS, TESTED_WITH, accepts, instantiate
from torch import Tensor, nn

APPROXIMATE = {
    "online": "its gradient is a control process, of no function",
    "spectral": "its singular vectors are constants in the gradient, and move with the weight",
    "weight": "torch's own fused weight_norm",
    "weight_mean_only": "torch's own fused weight_norm",
}
STEP = 1e-6


def directional(name: str, shape: tuple[int, ...], training: bool) -> tuple[list[Tensor], list[Tensor]]:
    """Return the derivative of all gradients along a random direction: by autograd, and by central differences."""
    torch.manual_seed(0)
    fewer = {"num_groups": 2} if "num_groups" in CONFIGS[name] else {}
    norm = instantiate(CONFIGS[name], **{**TESTED_WITH.get(name, {}), **fewer})
    layer = nn.Conv2d(8, 8, 1) if len(shape) == 4 else nn.Linear(8, 8)
    block, x = norm.block(layer, nn.Tanh()).double(), torch.randn(shape).double().requires_grad_()
    block(x)
    block.train(training)
    variables, buffers = [x, *block.parameters()], {key: value.clone() for key, value in block.named_buffers()}
    cotangent, along = torch.randn(shape).double(), [torch.randn_like(each) for each in variables]

    def gradients(create_graph: bool = False) -> list[Tensor]:
        for key, buffer in block.named_buffers():
            buffer.copy_(buffers[key])
        loss = (block(x) * cotangent).sum()
        return list(torch.autograd.grad(loss, variables, create_graph=create_graph, materialize_grads=True))

    def moved(step: float) -> list[Tensor]:
        with torch.no_grad():
            for each, direction in zip(variables, along, strict=True):
                each.add_(step * direction)
        return gradients()

    product = sum((g * d).sum() for g, d in zip(gradients(create_graph=True), along, strict=True))
    found = torch.autograd.grad(product, variables, materialize_grads=True)
    above, below = moved(STEP), moved(-2 * STEP)
    return list(found), [(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(6, 8, 3, 2), (8, 8)])
def test_a_second_derivative_is_that_of_the_gradient(name, training, shape):
    if not accepts(name, shape):
        pytest.skip("needs positions")
    found, expected = directional(name, shape, training)
    close = all(torch.allclose(a, b, rtol=1e-5, atol=1e-5) for a, b in zip(found, expected, strict=True))
    assert close == (name not in APPROXIMATE or (name == "online" and not training))
