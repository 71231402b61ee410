"""What happens to a network that Adam trains when beta1 changes, and whether its curvature says so beforehand."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch

from normexp.config import Config
from normexp.errors import UserError
from normexp.seeding import random_states, set_random_states
from normexp.studies.arithmetic.reference_adam import AuthorsAdam, ComparedAdam
from normexp.studies.arithmetic.sharpness import preconditioned_sharpness
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.components import Components, Hyperparameters
from normexp.training.fit import fit

LAST = 50  # updates at the end of a stretch over which the loss is averaged
COMPARED = 30  # updates over which torch's Adam is compared with the formula


@dataclass(frozen=True, kw_only=True)
class AdamStability(Study):
    """Train with Adam; then go on in several ways that differ in one thing each.

    On a quadratic loss Adam with standing v is stable while the preconditioned sharpness, the largest eigenvalue of
    D^(-1/2) H D^(-1/2) with D = sqrt(v) + eps, is below 2 (1 + beta1) / ((1 - beta1) lr): 38 / lr at beta1 = 0.9 and
    6 / lr at 0.5. A smaller beta1 can therefore put a network beyond the limit from one update to the next.

    The ways on start from the same weights, moments and random state and see the same batches. `keep` changes nothing;
    `change` sets beta1; `scaled` sets beta1 and lowers the rate so that the limit stays where it was; `authors` does
    what `change` does with an Adam in float64 NumPy in the order of the authors' code, eps inside the root. What a
    way costs is its loss minus that of `keep`, over the last 50 updates. `adam_distance` is the largest distance, over
    30 updates through the change, of torch's update from that of an Adam in float64 NumPy on the same gradients.

    Args:
        before: updates until the change.
        after: updates after it.
        beta1: what Adam's beta1 becomes.
        examples: whose loss the sharpness is of, dropout and noise included.
        iterations: of the power method.

    Raises: UserError for an optimizer without beta1, and for one with weight decay.

    Source: Cohen et al. 2022, arXiv:2207.14484 (the limit); Salimans & Kingma 2016, their released code
    (the order of the update).
    """

    before: int = 750
    after: int = 150
    beta1: float = 0.5
    examples: int = 500
    iterations: int = 15

    def measure(self, context: StudyContext) -> Outcome:
        check_plain_adam(context.config)
        trained = context.components
        losses = torch.stack([update.loss for update in fit(trained, stop=self.before)])
        saved = Saved.of(trained)
        (old, beta2), lr = trained.optimizer.defaults["betas"], trained.lr(self.before - 1)
        limit = {beta1: stability_limit(beta1, lr) for beta1 in (old, self.beta1)}
        sharpness = preconditioned_sharpness(trained, self.examples, self.iterations)
        ways = {
            "keep": constant(lr, (old, beta2)),
            "change": constant(lr, (self.beta1, beta2)),
            "scaled": constant(lr * limit[self.beta1] / limit[old], (self.beta1, beta2)),
        }
        end = self._ends(saved, trained, ways)
        row = {
            "loss": float(losses[-LAST:].mean()),
            "sharpness": sharpness,
            "limit_before": limit[old],
            "limit_after": limit[self.beta1],
            "sharpness_over_limit": sharpness / limit[self.beta1],
            **{f"harm_{name}": loss - end["keep"] for name, loss in end.items() if name != "keep"},
            "adam_distance": self._adam_distance(saved.restored(trained), ways["change"]),
        }
        return Outcome([{"step": self.before, **row}])

    def _ends(self, saved: Saved, trained: Components, ways: Mapping[str, Schedule]) -> dict[str, float]:
        """Return where each way on ends, and where the authors' Adam does."""
        end = {name: self._go_on(saved.restored(trained), schedule) for name, schedule in ways.items()}
        authors = saved.restored(trained)
        own = self._go_on(replace(authors, optimizer=AuthorsAdam(authors.optimizer)), ways["change"])
        return {**end, "authors": own}

    def _go_on(self, components: Components, schedule: Schedule) -> float:
        """Return the mean loss of the last updates after the change."""
        updates = fit(replace(components, schedule=schedule), self.before, self.before + self.after)
        return float(torch.stack([update.loss for update in updates])[-LAST:].mean())

    def _adam_distance(self, components: Components, schedule: Schedule) -> float:
        compared = ComparedAdam(components.optimizer)
        through = replace(components, optimizer=compared, schedule=schedule)
        for _ in fit(through, self.before, self.before + COMPARED):
            pass
        return compared.distance


Schedule = Callable[[int], Hyperparameters]


def check_plain_adam(config: Config) -> None:
    """Raise UserError for an optimizer without beta1, and for one with weight decay."""
    if (optim := config.choices["optim"]) != "adam":
        raise UserError(f"study=adam_stability: optim={optim} has no beta1; use optim=adam")
    if decay := config["optim"]["weight_decay"]:
        raise UserError(f"study=adam_stability: optim.weight_decay={decay:g}: the Adam of the formula has none; use 0")


def constant(lr: float, betas: tuple[float, float]) -> Schedule:
    """Return a schedule of one learning rate and the same betas."""
    return lambda step: {"lr": lr, "betas": betas}


def stability_limit(beta1: float, lr: float) -> float:
    """Return the largest preconditioned sharpness at which Adam is stable: 2 (1 + beta1) / ((1 - beta1) lr).

    Derived for standing v, H an eigenvalue of the preconditioned Hessian: m' = beta1 m + (1 - beta1) H x,
    x' = x - lr m' has the characteristic polynomial z^2 - (1 + beta1 - lr (1 - beta1) H) z + beta1; its root leaves the
    unit circle at z = -1, where 2 (1 + beta1) = lr (1 - beta1) H.
    """
    return 2 * (1 + beta1) / ((1 - beta1) * lr)


@dataclass(frozen=True)
class Saved:
    """Weights, moments and random state at one update."""

    model: dict[str, torch.Tensor]
    optimizer: dict[str, object]
    random: dict[str, torch.Tensor]

    @classmethod
    def of(cls, components: Components) -> Saved:
        model, optimizer = components.model.state_dict(), components.optimizer.state_dict()
        return cls(copy.deepcopy(model), copy.deepcopy(optimizer), random_states())

    def restored(self, components: Components) -> Components:
        """Return the components as they were."""
        components.model.load_state_dict(self.model)
        components.optimizer.load_state_dict(copy.deepcopy(self.optimizer))
        set_random_states(self.random)
        return components
