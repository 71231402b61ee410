"""Weight normalization: the parametrization's theorems and the data-dependent initialization."""

import pytest
import torch
from every_scheme import CONFIGS, instantiate
from torch import nn

from normexp.norms.base import Norm, set_weight, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.mean_only import MeanOnlyBatchNorm
from normexp.norms.stack import Stack
from normexp.norms.weight import WeightNorm, gain

LAYERS = [
    lambda: nn.Linear(5, 4),
    lambda: nn.Conv2d(3, 4, 3),
    lambda: nn.Conv2d(4, 8, 3, groups=4),
    lambda: nn.ConvTranspose2d(3, 4, 3),
]


def direction(layer):
    return layer.parametrizations.weight.original1


def output_dim(layer):
    return 1 if isinstance(layer, nn.ConvTranspose2d) else 0


def per_unit(layer, tensor):
    return tensor.movedim(output_dim(layer), 0).flatten(1)


def mlp(norm: Norm) -> nn.Module:
    return nn.Sequential(norm.block(nn.Linear(7, 20), nn.Sigmoid()), nn.Dropout(0.5), norm.block(nn.Linear(20, 5)))


def convnet(norm: Norm) -> nn.Module:
    return nn.Sequential(
        norm.block(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.1)),
        nn.Dropout(0.5),
        norm.block(nn.Conv2d(8, 6, 3), nn.LeakyReLU(0.1)),
        nn.Flatten(),
        norm.block(nn.Linear(6 * 16, 5)),
    )


NETWORKS = [(mlp, (50, 7)), (convnet, (30, 3, 8, 8))]


def outputs_of_layers(model, batch):
    """Return each weight layer's output in a training pass, channels last, in call order."""
    seen = []
    hooks = [
        layer.register_forward_hook(
            lambda layer, _, y: seen.append(y if isinstance(layer, nn.Linear) else y.movedim(1, -1))
        )
        for layer in weight_layers(model)
    ]
    model(batch)
    for hook in hooks:
        hook.remove()
    return [y.detach().reshape(-1, y.shape[-1]) for y in seen]


@pytest.mark.parametrize("make", LAYERS)
def test_keeps_the_layers_function(make):
    layer = make().double()
    before = layer.weight.detach().clone()
    WeightNorm().parametrize(layer)
    torch.testing.assert_close(layer.weight, before)
    torch.testing.assert_close(gain(layer).flatten(), per_unit(layer, before).norm(dim=1))


@pytest.mark.parametrize("make", LAYERS)
def test_gradient_is_orthogonal_to_v_and_steps_lengthen_it(make):
    layer = WeightNorm().parametrize(make().double())
    v = direction(layer)
    layer.weight.backward(torch.randn_like(layer.weight))
    step = per_unit(layer, v.grad)
    old = per_unit(layer, v.detach())
    assert (step * old).sum(1).abs().max() < 1e-12
    c = step.norm(dim=1) / old.norm(dim=1)
    torch.testing.assert_close((old - step).norm(dim=1), (1 + c**2).sqrt() * old.norm(dim=1))


@pytest.mark.parametrize("make", LAYERS)
def test_output_does_not_depend_on_the_length_of_v(make):
    layer = WeightNorm().parametrize(make().double())
    before = layer.weight.detach().clone()
    with torch.no_grad():
        direction(layer).mul_(3)
    torch.testing.assert_close(layer.weight, before)


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("wrap", [lambda value: value, nn.Parameter])
def test_setting_the_weight_sets_g_and_v(make, wrap):
    """normexp gives every scheme the same initial weights after the network is built."""
    layer = WeightNorm().parametrize(make())
    parameters = dict(layer.named_parameters())
    value = torch.randn_like(layer.weight)
    set_weight(layer, wrap(value))
    torch.testing.assert_close(layer.weight.detach(), value)
    with torch.no_grad():
        direction(layer).mul_(2)
    torch.testing.assert_close(layer.weight.detach(), value)  # shares no memory with v
    assert all(parameters[name] is parameter for name, parameter in layer.named_parameters())
    assert len(list(layer.parameters())) == 3  # g, v and the bias: no second weight


def test_transposed_convolution_in_groups_is_refused():
    with pytest.raises(ValueError, match="groups=1, not 2"):
        WeightNorm().parametrize(nn.ConvTranspose2d(4, 4, 3, groups=2))


@pytest.mark.parametrize(("network", "shape"), NETWORKS)
def test_initialization_standardizes_every_layer(network, shape):
    norm = WeightNorm()
    model, batch = network(norm), torch.randn(shape) * 3 + 1
    state = torch.get_rng_state()
    norm.initialize(model, batch)
    torch.set_rng_state(state)  # the same dropout mask as the initialization saw
    for units in outputs_of_layers(model.train(), batch):
        torch.testing.assert_close(units.mean(0), torch.zeros(units.shape[1]), rtol=0, atol=1e-5)
        torch.testing.assert_close(units.std(0, correction=0), torch.ones(units.shape[1]), rtol=1e-4, atol=0)


@pytest.mark.parametrize(("network", "shape"), NETWORKS)
def test_initialization_under_mean_only_sets_the_scale_alone(network, shape):
    norm = instantiate(CONFIGS["weight_mean_only"])
    model, batch = network(norm), torch.randn(shape) * 3 + 1
    state = torch.get_rng_state()
    norm.initialize(model, batch)
    torch.set_rng_state(state)
    outputs = outputs_of_layers(model.train(), batch)
    assert outputs[0].mean(0).abs().max() > 0.1  # left to mean-only batch normalization
    for units in outputs:
        torch.testing.assert_close(units.std(0, correction=0), torch.ones(units.shape[1]), rtol=1e-4, atol=0)


def test_initialization_of_layers_without_bias():
    norm = WeightNorm()
    layers = [norm.parametrize(nn.Linear(6, 6, bias=False)) for _ in range(2)]
    model, batch = nn.Sequential(layers[0], nn.ReLU(), layers[1]), torch.randn(50, 6) + 2
    norm.initialize(model, batch)
    for units in outputs_of_layers(model, batch):
        torch.testing.assert_close(units.std(0, correction=0), torch.ones(6), rtol=1e-4, atol=0)


def test_initialization_can_be_left_out():
    norm = WeightNorm(data_init=False)
    model = convnet(norm)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    norm.initialize(model, torch.randn(30, 3, 8, 8))
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


@pytest.mark.parametrize("activations", [BatchNorm(), MeanOnlyBatchNorm()])
def test_initialization_leaves_no_trace_but_g_and_b(activations):
    norm = Stack(weights=WeightNorm(), activations=activations)
    model = convnet(norm).eval()
    model[1].train()
    modes = [module.training for module in model.modules()]
    buffers = [buffer.clone() for buffer in model.buffers()]
    state = torch.get_rng_state()
    norm.initialize(model, torch.randn(30, 3, 8, 8, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(torch.get_rng_state(), state)
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(*pair) for pair in zip(buffers, model.buffers(), strict=True))
    assert not any(layer._forward_hooks for layer in model.modules())


def test_initialization_sees_dropout():
    norm = WeightNorm()
    model, batch = mlp(norm), torch.randn(50, 7)
    norm.initialize(model, batch)
    without = outputs_of_layers(model.eval(), batch)[1].std(0, correction=0)
    assert (without - 1).abs().max() > 0.05


def test_dead_channel_keeps_its_scale():
    norm = WeightNorm()
    model = nn.Sequential(norm.block(nn.Linear(3, 4)))
    x = torch.randn(20, 3)
    x[:, 0] = 1.7
    set_weight(model[0][0], torch.tensor([[2.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]]))
    norm.initialize(model, x)
    assert gain(model[0][0])[0] == 2
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def test_one_value_per_channel_is_refused_and_leaves_no_trace():
    norm = WeightNorm()
    model = mlp(norm).eval()
    with pytest.raises(ValueError, match="more than one value per channel"):
        norm.initialize(model, torch.randn(1, 7))
    assert not model.training
    assert not any(layer._forward_hooks for layer in model.modules())


def test_weights_without_direction_are_refused():
    norm = WeightNorm()
    layer = norm.parametrize(nn.Linear(3, 2))
    set_weight(layer, torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"^weight norm: .*\(2, 3\).* no direction$"):  # one line
        norm.initialize(layer, torch.randn(5, 3))


def test_layer_used_twice_is_set_by_its_first_call():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = WeightNorm().parametrize(nn.Linear(4, 4))

        def forward(self, x):
            self.first = self.layer(x)
            return self.layer(self.first.relu() * 5)

    model, batch = Twice(), torch.randn(30, 4)
    WeightNorm().initialize(model, batch)
    model(batch)
    torch.testing.assert_close(model.first.std(0, correction=0), torch.ones(4), rtol=1e-4, atol=0)
