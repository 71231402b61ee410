"""Two schemes at once: one for the weights, one for the activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from torch import Tensor, nn

from normexp.errors import as_python
from normexp.norms.base import Norm, Site, Step, one_by_one
from normexp.norms.networks.effect import parametrizes, replaces_nonlinearity


@dataclass(frozen=True, kw_only=True)
class Stack(Norm):
    """Apply two schemes in order, such as weight normalization and mean-only batch normalization.

    Every hook of `weights` runs before the same hook of `activations`: a weight is reparametrized by both, an
    activation passes through both, penalties add up. Training and evaluation are those of the parts, which keep what
    they mean: two schemes for the weights would undo each other, and one nonlinearity cannot be replaced twice.

    Args:
        weights: the scheme whose hooks run first.
        activations: the scheme whose hooks run second.
        placement: where the stack normalizes; the parts keep their default.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: if a part is no scheme, sets a placement of its own or refuses the stack's; if both parts
            parametrize weights, or both bring a nonlinearity of their own.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 4, for weight with mean-only batch
    normalization; Qiao et al. 2019, arXiv:1903.10520, for weight standardization with group normalization.
    """

    weights: Norm = field(default_factory=Norm)
    activations: Norm = field(default_factory=Norm)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, part in (("weights", self.weights), ("activations", self.activations)):
            if not isinstance(part, Norm):
                raise ValueError(f"{name} must be a scheme, for example WeightNorm(), not {as_python(part)}")
            if part.placement != "pre":
                raise ValueError(f"set the placement of the stack, not of its {name}: {part.placement!r}")
            replace(part, placement=self.placement)  # refuses what it cannot be
        for acts, what in ((parametrizes, "set the weights"), (replaces_nonlinearity, "replace the nonlinearity")):
            if acts(self.weights) and acts(self.activations):
                names = (type(part).__name__ for part in (self.weights, self.activations))
                raise ValueError(f"{' and '.join(names)} both {what}: a stack takes one scheme that does")

    @property
    def cancels_bias(self) -> bool:
        # What the first part cancels is gone; what it lets through as a constant, the second may cancel. Only
        # a first part that does nothing to activations is sure to let a constant through unchanged.
        passes = isinstance(self.weights.normalization(1), nn.Identity)
        return self.weights.cancels_bias or (passes and self.activations.cancels_bias)

    def parametrize(self, layer: nn.Module) -> nn.Module:
        return self.activations.parametrize(self.weights.parametrize(layer))

    def normalization(self, num_features: int) -> nn.Module:
        return in_order(self.weights.normalization(num_features), self.activations.normalization(num_features))

    def linear_normalization(self, num_features: int) -> nn.Module:
        return in_order(
            self.weights.linear_normalization(num_features), self.activations.linear_normalization(num_features)
        )

    def sequence(self, num_features: int) -> nn.Module:
        if all(type(part).sequence is Norm.sequence for part in (self.weights, self.activations)):
            return super().sequence(num_features)  # rows are made of the tokens once
        return in_order(self.weights.sequence(num_features), self.activations.sequence(num_features))

    def nonlinearity(self, fn: nn.Module) -> nn.Module:
        return self.activations.nonlinearity(self.weights.nonlinearity(fn))

    def recurrent(self, num_features: int, max_steps: int, site: Site = "sum") -> Step:
        parts = (self.weights, self.activations)
        return StepInOrder(*(part.recurrent(num_features, max_steps, site) for part in parts))

    def parametrize_recurrent(self, layer: nn.Module) -> nn.Module:
        return self.activations.parametrize_recurrent(self.weights.parametrize_recurrent(layer))

    def pool(self, module: nn.Module) -> nn.Module:
        return self.activations.pool(self.weights.pool(module))

    def initialize(self, model: nn.Module, batch: Tensor) -> None:
        self.weights.initialize(model, batch)
        self.activations.initialize(model, batch)

    def before_evaluation(self, model: nn.Module, inputs: Callable[[int], Tensor]) -> None:
        self.weights.before_evaluation(model, inputs)
        self.activations.before_evaluation(model, inputs)

    def penalty(self, model: nn.Module) -> Tensor | None:
        terms = [part.penalty(model) for part in (self.weights, self.activations)]
        present = [term for term in terms if term is not None]
        return sum(present[1:], start=present[0]) if present else None

    def step_hook(self, model: nn.Module) -> Callable[[], None] | None:
        return one_by_one(self.weights.step_hook(model), self.activations.step_hook(model))


def in_order(*modules: nn.Module) -> nn.Module:
    """Return the modules as one, without those that do nothing."""
    steps = [module for module in modules if not isinstance(module, nn.Identity)]
    if len(steps) > 1:
        return nn.Sequential(*steps)
    return steps[0] if steps else nn.Identity()


class StepInOrder(Step):
    """Two modules called as `module(x, t)`, one after the other."""

    def __init__(self, first: Step, second: Step) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.does_nothing = first.does_nothing and second.does_nothing

    def forward(self, x: Tensor, t: int) -> Tensor:
        return self.second(self.first(x, t), t)
