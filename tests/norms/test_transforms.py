"""torch.func, torch.export and a trace: other ways to call a scheme find what autograd finds."""

import pytest
import torch
from every_scheme import CHANNELS, CONFIGS, ON_ACTIVATIONS, instantiate
from torch.func import functional_call, grad, vmap

# Running estimates are written in place in training, which torch.func allows no module, nn.BatchNorm2d included.
STATELESS = ("dynamic_tanh", "evonorm_s0", "filter_response", "group", "instance", "layer", "positional", "rms")


def energy(module, parameters, x):
    return functional_call(module, parameters, (x,)).sin().sum()


@pytest.mark.parametrize("name", STATELESS)
def test_gradient_of_torch_func_is_that_of_autograd(name):
    module = instantiate(CONFIGS[name]).normalization(CHANNELS).double()
    x = torch.randn(3, CHANNELS, 4, 5, dtype=torch.double, requires_grad=True)
    (expected,) = torch.autograd.grad(energy(module, {}, x), x)
    found = grad(lambda x: energy(module, {}, x))(x.detach())
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ON_ACTIVATIONS)
def test_gradients_per_sample_add_up_to_that_of_the_batch(name):
    module = instantiate(CONFIGS[name]).normalization(CHANNELS).double().eval()
    x = torch.randn(3, CHANNELS, 4, 5, dtype=torch.double, requires_grad=True)
    parameters = {key: value.detach() for key, value in module.named_parameters()}
    of_sample = grad(lambda p, x: energy(module, p, x[None]), argnums=(0, 1))
    each, each_x = vmap(of_sample, in_dims=(None, 0))(parameters, x.detach())
    energy(module, {}, x).backward()
    torch.testing.assert_close(each_x, x.grad)
    for key, value in module.named_parameters():
        torch.testing.assert_close(each[key].sum(0), value.grad)


@pytest.mark.parametrize("name", ON_ACTIVATIONS)
def test_an_ensemble_gets_the_same_input(name):
    """Parameters of two networks in a stack, one input for both."""
    module = instantiate(CONFIGS[name]).normalization(CHANNELS).eval()
    x = torch.randn(3, CHANNELS, 4, 5)
    one = {key: value.detach() for key, value in module.named_parameters()}
    if one:
        stacked = {key: torch.stack([2 * value, value]) for key, value in one.items()}
        both = vmap(lambda parameters: functional_call(module, parameters, (x,)))(stacked)
        torch.testing.assert_close(both[1], module(x))


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_ACTIVATIONS)
def test_exported_for_any_batch_size(name):
    module = instantiate(CONFIGS[name]).normalization(CHANNELS).eval()
    x = torch.randn(8, CHANNELS, 4, 5)
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=512)},))
    torch.testing.assert_close(exported.module()(x[:3]), module(x[:3]))


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::torch.jit.TracerWarning")  # deprecated, and still in use
@pytest.mark.parametrize("name", ON_ACTIVATIONS)
def test_traced_for_any_batch_size(name):
    """... on maps that are normalized sample by sample otherwise."""
    module = instantiate(CONFIGS[name]).normalization(CHANNELS).eval()
    x = torch.randn(4, CHANNELS, 24, 24).to(memory_format=torch.channels_last)
    traced = torch.jit.trace(module, (x[:2],), check_trace=False)
    torch.testing.assert_close(traced(x), module(x))
