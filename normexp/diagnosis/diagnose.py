"""One look at somebody's own network: what its normalizations do to a batch, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from normexp.diagnosis.batches import batches, batches_spared, first_tensor, on_device_of
from normexp.diagnosis.cost import seconds
from normexp.diagnosis.finding import BATCH, FAULT, NOTE, Diagnosis, Finding
from normexp.diagnosis.modes import Disagreement, change, disagreements
from normexp.diagnosis.normalizations import (
    Moments,
    is_normalization,
    keeps_statistics,
    moments,
    normalizations,
    normalized_weights,
    other_statistics,
)
from normexp.diagnosis.predictions import of_predictions
from normexp.diagnosis.running import deviation, of_running_estimates
from normexp.diagnosis.settings import check_settings
from normexp.diagnosis.shapes import last_input, of_shapes, too_few
from normexp.diagnosis.strangers import all_kept, called_strangers, of_strangers, places_of
from normexp.diagnosis.weights import is_half, noticed_in, of_weights, weights
from normexp.errors import UserError, first_line, kind_and_line, line_in
from normexp.norms.networks.trial import left_as_found
from normexp.norms.networks.whole import check_network
from normexp.probes.base import training_mode
from normexp.probes.equilibrium import equilibrium_angle
from normexp.records.waiting import Waiting
from normexp.torch_modes import gradients_and_full_precision

NEVER_CALLED = "no call comes here; one of its forward() and reading its numbers are not seen"
NO_GRADIENTS = "it is called under torch.no_grad(), so a forward that differentiates needs torch.enable_grad()"


def diagnose(model: nn.Module, data: Tensor | Iterable[Any], settings: Mapping[str, float] | None = None) -> Diagnosis:
    """Measure what the normalizations of a network do, and say what is wrong. The network stays as it is.

    Args:
        model: any network with one input.
        data: a batch of training inputs, (inputs, labels), or a loader of them, of which 64 batches are looked at.
        settings: `lr`, `momentum` and `weight_decay` of the SGD that trains it, for the effective learning rates of
            scale-invariant weights and the angle they settle at.

    Raises: UserError for data that are none, and for a network that is none or cannot be called with them.
    """
    check_settings(settings or {})
    check_watchable(model)
    with gradients_and_full_precision(), batches_spared(model):
        examination = Examination(model, data)
        with all_kept(examination.strangers):
            return _diagnosed(examination, settings or {})


def _diagnosed(examination: Examination, settings: Mapping[str, float]) -> Diagnosis:
    model = examination.model
    measured = examination.trains and not is_half(model)
    found = weights(model, examination.inputs[0], settings.get("lr"), examination.waiting) if measured else {}
    whole, times = seconds(model, examination.norms, examination.inputs[0])
    summary = _summary(model, examination.inputs[0], found, times, whole, settings) if measured else {}
    return Diagnosis(
        [*examination.findings(), *of_weights(model, found)],
        {path: _row(examination, path, times, whole) for path in examination.norms},
        found,
        summary,
    )


class Examination:
    """One pass in train(), one in eval(), and what they show to be wrong."""

    def __init__(self, model: nn.Module, data: Tensor | Iterable[Any]) -> None:
        self.waiting = Waiting()
        self.model, self.inputs = model, on_device_of(model, batches(data, waiting=self.waiting))
        self.norms = normalizations(model)
        self.strangers = check_callable(model, self.norms, self.inputs[0])
        with all_kept(self.strangers):  # no eval() of the network reaches them: any pass moves what they hold
            with called_strangers(model) as called:
                self.stopped, self.seen = _in_training(model, self.norms, self.inputs, self.waiting)
            self.strangers |= places_of(model, called)
            self.local = disagreements(model, self.inputs[0])

    @property
    def trains(self) -> bool:
        """Whether train() takes these batches."""
        return not self.stopped

    def findings(self) -> list[Finding]:
        """Return faults and notes, faults first."""
        others = other_statistics(self.model)
        weights = normalized_weights(self.model)
        hidden = any(is_normalization(each) for each in self.strangers)
        moved = _moved(self.local, known={*self.norms, *others})
        none = [] if self.norms or others or moved or weights or hidden else _of_none()
        found = [*self.stopped, *of_strangers(self.strangers.values()), *_of_modes(self.model, self.norms)]
        found += [*none, *_of_others(others), *_of_moved(self.model, moved)]
        found += _of_normalized_weights(weights)
        found += _of_layers(self.norms, self.seen, sum(map(len, self.inputs)))
        found += of_predictions(self.model, self.inputs[0], BATCH in {each.kind for each in found})
        found += _of_disagreements(self.norms, self.local)
        return sorted(found, key=lambda each: each.level != FAULT)


def check_watchable(model: nn.Module) -> None:
    """Raise UserError for what is no network, is compiled, so that it cannot be seen, or can have no gradients."""
    try:
        check_network(model)
    except ValueError as error:
        raise UserError(error) from None
    if any(value.is_inference() for value in [*model.parameters(), *model.buffers()]):
        raise UserError("model: made in torch.inference_mode(), so it has no gradients; give copy.deepcopy(model)")
    for path, module in model.named_modules():
        if by := _compiled_by(module):
            what = f"{path} is compiled" if path else "compiled"
            raise UserError(f"model: {what} by {by}, so it cannot be watched; give what it was made of")


def _compiled_by(module: nn.Module) -> str:
    """Return what compiled a part of a network; empty of what is not. Every hook would be compiled anew, and timed."""
    if isinstance(module, torch.jit.ScriptModule):
        return "torch.jit"
    if module._compiled_call_impl is not None:
        return "its compile()"
    return "torch.compile" if isinstance(getattr(module, "_orig_mod", None), nn.Module) else ""


@torch.no_grad()
def check_callable(model: nn.Module, norms: Mapping[str, nn.Module], x: Tensor) -> dict[nn.Module, str]:
    """Return the layers that a network calls and has not registered, and where it keeps them.

    Raises: UserError for a network that cannot be called with a batch in evaluation.
    """
    try:
        with left_as_found(model, x.device), last_input(norms) as entered, called_strangers(model) as called:
            first_tensor(model.eval()(x))
        return places_of(model, called)
    except UserError:
        raise
    except Exception as error:  # somebody's own code may raise any
        reason = too_few(norms, entered) or f"{_said(error)}{_where(error, model)}"
        raise UserError(f"the network cannot be called with a batch of shape {tuple(x.shape)}: {reason}") from error


def _in_training(
    model: nn.Module, norms: Mapping[str, nn.Module], inputs: list[Tensor], waiting: Waiting
) -> tuple[list[Finding], dict[str, Moments]]:
    """Return the moments of what enters the normalizations in train(); with a finding, those of eval(), where that
    stops with an error, as with one value per channel.
    """
    try:
        with training_mode(model, inputs[0].device), last_input(norms) as entered:
            return [], moments(model, norms, inputs, halves=True, waiting=waiting)
    except UserError:
        raise
    except Exception as error:  # somebody's own code may raise any
        stopped = _stopped(too_few(norms, entered), f"{kind_and_line(error)}{_where(error, model)}")
        with training_mode(model, inputs[0].device):
            model.eval()
            return [stopped], moments(model, norms, inputs, halves=True, waiting=waiting)


def _where(error: Exception, model: nn.Module) -> str:
    """Return the last line of the network's own code that an error came by; nothing where all of it is torch's."""
    modules = {type(each).__module__ for each in model.modules()}
    return line_in(error, *(name for name in modules if not name.startswith(("torch.", "normexp."))))


def _stopped(few: str, told: str) -> Finding:
    """Return what is wrong with a network that stops in train() and not in eval()."""
    if few:
        return Finding("batch of 1", "", f"train() stops with an error at this batch: {few}")
    return Finding("train()", "", f"stops with {told}")


def _said(error: Exception) -> str:
    usual = isinstance(error, (RuntimeError, TypeError, ValueError))  # as torch says it
    told = first_line(error) if usual else kind_and_line(error)
    return f"{told}; {NO_GRADIENTS}" if "does not require grad" in told else told


def _of_modes(model: nn.Module, norms: Mapping[str, nn.Module]) -> Iterator[Finding]:
    """Yield the normalizations whose mode is not that of the network, as it was given."""
    for path, module in norms.items():
        if module.training != model.training:
            own, whole = ("train()", "eval()") if module.training else ("eval()", "train()")
            text = f"is in {own} in a network that is in {whole}; if that is not on purpose, call model.{whole}"
            yield Finding("mode", path, text)


def _of_others(others: Mapping[str, nn.Module]) -> Iterator[Finding]:
    for path, module in others.items():
        text = f"running statistics of {type(module).__name__} are not those of batch norm, and are not looked at"
        yield Finding("other statistics", path, text, NOTE)


def _moved(local: Mapping[str, Disagreement], known: Collection[str]) -> dict[str, Sequence[str]]:
    """Return {path: buffers} of the layers whose statistics have names of their own; what computes weights is none."""
    found = {path: each.moved for path, each in local.items() if each.moved and path not in known}
    return {path: names for path, names in found.items() if "parametrizations" not in path.split(".")}


def _of_moved(model: nn.Module, moved: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    for path, names in moved.items():
        kind = type(model.get_submodule(path)).__name__
        text = f"{kind} keeps {', '.join(names)} in train(); what is not running_mean and running_var is not looked at"
        yield Finding("other statistics", path, text, NOTE)


def _of_none() -> Iterator[Finding]:
    text = "it has none of torch's and no layer with running statistics; what is called as a function is not seen"
    yield Finding("no normalization", "", text, NOTE)


def _of_normalized_weights(schemes: Mapping[str, list[str]]) -> Iterator[Finding]:
    for scheme, names in schemes.items():
        yield from (
            Finding(scheme, name, "is computed by it: a scheme of weights, not of inputs", NOTE) for name in names
        )


def _of_layers(norms: Mapping[str, nn.Module], seen: Mapping[str, Moments], examples: int) -> Iterator[Finding]:
    for path, module in norms.items():
        if path not in seen:
            yield Finding("never called", path, NEVER_CALLED, NOTE)
            continue
        yield from of_shapes(path, module, seen[path].shape)
        yield from of_running_estimates(path, module, seen[path], examples)
        yield from _of_eps(path, module, seen[path])


def _of_eps(path: str, module: Any, seen: Moments) -> Iterator[Finding]:
    eps = getattr(module, "eps", None)
    by_channel = isinstance(module, nn.GroupNorm) or keeps_statistics(module)
    if (
        by_channel
        and isinstance(eps, float)
        and isinstance(seen.squares, Tensor)
        and eps > float(seen.variance.median()) > 0
    ):
        yield Finding(
            "eps", path, f"eps={eps:g} is above the variance of most channels, so they are not normalized", NOTE
        )


def _of_disagreements(norms: Mapping[str, nn.Module], local: Mapping[str, Disagreement]) -> Iterator[Finding]:
    """Yield what else than normalization differs between the modes; that is usual."""
    for path, each in local.items():
        if path not in norms and not each.moved and each.change > 0:
            text = f"drops or changes values in train() only, by {each.change:.2g} of its output"
            yield Finding("noise", path, text, NOTE)


def _row(examination: Examination, path: str, times: Mapping[str, float], whole: float) -> dict[str, Any]:
    """Return what was measured at one normalization; None where it was not."""
    module = examination.norms[path]
    row: dict[str, Any] = {"type": type(module).__name__, "train_eval": None}
    if path in examination.local:
        row["train_eval"] = examination.local[path].change
    known = path in examination.seen and isinstance(getattr(module, "running_mean", None), Tensor)
    row["off"] = deviation(module, examination.seen[path]) if known else None
    spent = times.get(path)
    return {**row, "ms": spent and 1e3 * spent, "share": spent and spent / whole}


def _summary(
    model: nn.Module,
    x: Tensor,
    found: Mapping[str, dict[str, float]],
    times: Mapping[str, float],
    whole: float,
    settings: Mapping[str, float],
) -> dict[str, float]:
    """Return numbers of the whole network."""
    with training_mode(model, x.device), torch.no_grad():
        evaluated = first_tensor(model.eval()(x))  # first, before train() moves running statistics
        trained = first_tensor(model.train()(x))
    free = [row for row in found.values() if noticed_in(row).is_scale_invariant]
    same = trained.shape == evaluated.shape  # not where one is a loss, or of another head
    numbers = {"train_eval_difference_of_outputs": change(trained, evaluated)} if same else {}
    numbers |= {"weights": len(found), "scale_invariant_weights": len(free)}
    numbers["weights_without_effect"] = sum(noticed_in(row).has_no_effect for row in found.values())
    numbers["share_of_normalizations_in_a_forward_pass"] = sum(times.values()) / whole
    if rates := [row["effective_rate"] for row in free if "effective_rate" in row]:
        numbers |= {"smallest_effective_rate": min(rates), "largest_effective_rate": max(rates)}
    if free and settings.get("lr") and settings.get("weight_decay"):
        numbers["equilibrium_angle_in_radians"] = equilibrium_angle({"momentum": 0.0, "dampening": 0.0, **settings})
    return numbers
