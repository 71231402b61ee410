"""The contract of a normalization scheme. The base class does nothing and is itself `norm=none`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.options import check_options, one_of
from normexp.norms.own.contract import check_hooks, hold_to_contract
from normexp.norms.own.contract import is_own as is_own
from normexp.norms.own.hooks import is_of_scheme as is_of_scheme

# A place of a recurrent network. `term`: W_x x or W_h h, added to each other and to a bias of the network's own.
# `sum`: all that enters a nonlinearity at once. `memory`: an LSTM's c on its way into tanh. `rnn`, `lstm`, `gru`: what
# such a cell newly puts into its state h (the whole of it, in a GRU the candidate).
Site = Literal["term", "sum", "memory", "rnn", "lstm", "gru"]
STATES = ("rnn", "lstm", "gru")


def num_outputs(layer: nn.Module) -> int:
    """Return C, the number of output features or channels of a Linear or Conv layer."""
    width = layer.out_features if isinstance(layer, nn.Linear) else layer.out_channels
    return int(width)  # type: ignore[arg-type]


def output_dim(layer: nn.Module) -> int:
    """Return the dimension of the weight that runs over the output channels: 1 in a transposed convolution.

    Raises: ValueError for a transposed convolution in groups, which spreads them over two dimensions.
    """
    if not isinstance(layer, nn.modules.conv._ConvTransposeNd):
        return 0
    if layer.groups != 1:
        raise ValueError(f"a scheme for the weights of a transposed convolution needs groups=1, not {layer.groups}")
    return 1


def weight_layers(model: nn.Module) -> list[nn.Module]:
    """Return every Linear and Conv layer in the order of `model.modules()`, its place in the network.

    Those inside of what a scheme of the user's own has made are the scheme's, and no layers of the network.
    """
    kinds = (nn.Linear, nn.modules.conv._ConvNd)
    return [module for module in model.modules() if isinstance(module, kinds) and not is_of_scheme(module)]


def free_weight(layer: Any) -> tuple[str, Tensor]:
    """Return name and value of the parameter behind a layer's weight: the weight, or what it is computed from."""
    computed = parametrize.is_parametrized(layer, "weight")  # or by a hook, from weight_v or weight_orig of the layer
    holder, prefix = (layer.parametrizations.weight, "parametrizations.weight.") if computed else (layer, "")
    originals = {name: each for name, each in holder.named_parameters(recurse=False) if name != "bias"}
    # By size, not by the weight's shape: reading that would compute it, which may move a state. v comes after g,
    # and of a layer with one input both have the same size.
    name = max(reversed(originals), key=lambda name: originals[name].numel())
    return f"{prefix}{name}", originals[name]


@torch.no_grad()
def set_weight(layer: nn.Module, value: Tensor) -> None:
    """Copy `value` into the layer's weight, or into what a parametrization computes the weight from."""
    if parametrize.is_parametrized(layer, "weight"):
        layer.weight = value.detach().clone()  # the setter takes no Parameter and keeps the storage
    else:
        layer.weight.copy_(value)  # type: ignore[operator]


def one_by_one(*hooks: Callable[[], None] | None) -> Callable[[], None] | None:
    """Return what calls some hooks in their order, without those that are None; None where there is no other."""
    given = [hook for hook in hooks if hook is not None]
    if len(given) < 2:
        return given[0] if given else None

    def call() -> None:
        for hook in given:
            hook()

    return call


def at_least_float32(x: Tensor) -> Tensor:
    """Return x in float32 if its type is narrower: statistics of half-precision inputs need the room."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


@dataclass(frozen=True, kw_only=True)
class Norm:
    """No normalization, and the contract of all the others: every hook does nothing.

    A scheme may act on weights, pre-activations, the nonlinearity, the loss, at initialization, or on several
    of these. A network calls `block` and `pool`, the training loop the rest; neither asks which scheme it has.

    Args:
        placement: `pre` normalizes what enters the nonlinearity (W x), `post` what leaves it.

    Options that many schemes have mean the same in all that do not say otherwise: `eps` is added to the variance inside
    the root, `momentum` is the weight of the new batch in the running estimates, `affine` learns a `weight` (starts at
    1) and a `bias` (starts at 0).
    """

    placement: str = one_of("pre", "post")
    rowwise: ClassVar[bool] = False  # `normalization` treats every row of (N, C) alone: time steps need no order

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hold_to_contract(cls, Norm)

    def __post_init__(self) -> None:
        """Check the options and the hooks; a scheme with rules of its own adds them, and need not call this."""
        check_options(self)
        check_hooks(self, Norm)

    @property
    def cancels_bias(self) -> bool:
        """True if a constant per channel, added before `normalization`, changes nothing in training."""
        return False

    def parametrize(self, layer: nn.Module) -> nn.Module:
        """Return the same Linear or Conv layer with its weight (re)parametrized.

        A module for torch.nn.utils.parametrize needs a `right_inverse`, by which the initial weight is set.
        """
        return layer

    def normalization(self, num_features: int) -> nn.Module:
        """Return a module on pre-activations: (N, C, *) -> (N, C, *), where C is `num_features`."""
        return nn.Identity()

    def linear_normalization(self, num_features: int) -> nn.Module:
        """Return the module for pre-activations that no nonlinearity follows: an output layer, a linear bottleneck.

        Differs from `normalization` in schemes that bring a nonlinearity of their own; nn.Identity where such a scheme
        is nothing without it.
        """
        return self.normalization(num_features)

    def sequence(self, num_features: int) -> nn.Module:
        """Return a module on the tokens of a transformer: (*, C) -> (*, C), where C is `num_features`.

        What stands in front of C are examples and positions: every one is a row of its own. A scheme with statistics
        over the batch takes them over all rows, later positions included.
        """
        module = self.linear_normalization(num_features)
        return module if isinstance(module, nn.Identity) else Rows(module)

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        """Return the activation function to use in place of `fn`."""
        return fn

    def recurrent(self, num_features: int, max_steps: int, site: Site = "sum") -> Step:
        """Return a Step, called as `step(x, t)` on x: (N, C) at time step t, 0 <= t < max_steps.

        `TimeStep(module)` is one: the same module, called as `module(x)`, at every time step.

        N may shrink from step to step: sequences that have ended are left out. Longer sequences than max_steps may
        come in evaluation.
        """
        module = nn.Identity() if site in STATES else self.normalization(num_features)
        return TimeStep(module, self.rowwise)

    def parametrize_recurrent(self, layer: nn.Module) -> nn.Module:
        """Return a Linear layer, W_x or W_h of a recurrent network, with its weight (re)parametrized."""
        return self.parametrize(layer)

    def pool(self, module: nn.Module) -> nn.Module:
        """Return the pooling layer to use in place of `module`."""
        return module

    def initialize(self, model: nn.Module, batch: Tensor) -> None:
        """Set the scheme's own parameters from one batch of inputs, once, before training."""

    def before_evaluation(self, model: nn.Module, inputs: Callable[[int], Tensor]) -> None:
        """Set what evaluation needs from training inputs; `inputs(count)` returns the first `count` of them.

        Called before every evaluation with the model in training mode, and leaves it so. The next evaluation with the
        same weights must find the same, so that a run that was killed ends as if it had not been.
        """

    def penalty(self, model: nn.Module) -> Tensor | None:
        """Return a scalar to add to the loss, or None."""
        return None

    def step_hook(self, model: nn.Module) -> Callable[[], None] | None:
        """Return what to call after every optimizer step, or None; asked for once, before training.

        It keeps nothing of its own from call to call (a count): a checkpoint would not know of it. Buffers may.
        """
        return None

    def block(self, layer: nn.Module, fn: nn.Module | None = None) -> nn.Module:
        """Put layer, normalization and nonlinearity in order; the only thing that a network calls.

        Drops the layer's bias where the scheme cancels it. Without `fn` the block is linear: an output layer.
        """
        pre = self.placement == "pre" or fn is None
        if pre and self.cancels_bias:
            layer.register_parameter("bias", None)
        normalization = self.linear_normalization if fn is None else self.normalization
        steps = [self.parametrize(layer), normalization(num_outputs(layer))]
        if fn is not None:
            steps.insert(2 if pre else 1, self.nonlinearity(fn))
        return nn.Sequential(*(step for step in steps if not isinstance(step, nn.Identity)))


class Rows(nn.Module):
    """A module on (N, C) for (*, C): all but the last dimension are rows."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return self.module(x.flatten(0, -2)).view(x.shape)


class Step(nn.Module):
    """What a scheme does at one place of a recurrent network, called as `step(x, t)`: (N, C) -> (N, C)."""

    does_nothing = False  # the network may leave it out

    def all_steps(self, x: Tensor, sizes: list[int]) -> Tensor:
        """Return what the calls for t = 0, 1, ... return, one below the other.

        x: (R, C) holds `sizes[t]` rows of every time step t, in order.
        """
        return torch.cat([self(x_t, t) for t, x_t in enumerate(x.split(sizes))])


class TimeStep(Step):
    """The same module at every time step, for schemes whose statistics do not depend on the step.

    Args:
        rowwise: the module treats every row alone, so that all time steps may pass through it at once.
    """

    def __init__(self, module: nn.Module, rowwise: bool = False) -> None:
        super().__init__()
        self.module = module
        self.does_nothing = isinstance(module, nn.Identity)
        self.rowwise = rowwise or self.does_nothing

    def forward(self, x: Tensor, t: int) -> Tensor:
        return self.module(x)

    def all_steps(self, x: Tensor, sizes: list[int]) -> Tensor:
        return self.module(x) if self.rowwise else super().all_steps(x, sizes)
