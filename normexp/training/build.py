"""Config -> the components of a run: examples on the device, network, scheme, optimizer, learning rate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from normexp.config import Config
from normexp.config.instantiate import instantiate, instantiate_option, instantiate_part, locate
from normexp.data.base import Array, Data
from normexp.data.inputs import InputNorm
from normexp.data.loading import LastValue
from normexp.errors import Unavailable, UserError, first_line
from normexp.models.init.base import Init
from normexp.models.transformer.trunk import Transformer
from normexp.norms.base import Norm
from normexp.norms.own.hooks import hooks_drawn
from normexp.probes.base import Probe
from normexp.seeding import seeded
from normexp.training.batches import Examples, TrainingBatches, is_large
from normexp.training.bfloat16 import bfloat16_autocast
from normexp.training.checks.compiler import check_compiler
from normexp.training.checks.fitting import fitting
from normexp.training.checks.trial import check_shapes, check_update
from normexp.training.checks.unkept_state import check_initialized
from normexp.training.compiled_norms import compile_norms
from normexp.training.components import Components, Hyperparameters
from normexp.training.length import length_of
from normexp.training.machine.hardware import choose_device, choose_threads
from normexp.training.network import make_model
from normexp.training.schedules import as_setting, check_schedule
from normexp.training.task import task_of

INIT_EXAMPLES = 500  # data-dependent initialization sees this many, as in Salimans & Kingma's code


def build(config: Config, data: Data, examples: LastValue[dict[str, Examples]] | None = None) -> Components:
    """Build every part of a run. Raises UserError where two parts do not fit; writes nothing, sets nothing.

    Args:
        examples: what runs before this one have put on the device, where they may share it.
    """
    _check_inputs(config, data)
    device = choose_device(config["device"])
    if config["compile"] and device.type == "cpu":
        check_compiler(config["compile"])
    norm = build_norm(config)
    model = build_model(config, norm, data.input_shape, data.num_outputs)
    check_shapes(config, model, data)
    lay_out(model.to(device))
    autocast = build_autocast(config["precision"], device)
    check_update(config, model, data, device, autocast)
    if config["compile"] == "norms":
        compile_norms(model, config.choices["norm"])
    splits = build_examples(config, data, device, examples)
    batches = TrainingBatches(splits.pop("train"), config["batch_size"], config["seed"])
    steps, eval_every = length_of(config.values, batches.steps_per_epoch)
    return Components(
        model=model,
        task=task_of(data),
        optimizer=build_optimizer(config, model, device),
        batches=batches,
        steps=steps,
        seed=config["seed"],
        schedule=build_schedule(config, steps),
        evaluated=splits,
        eval_every=eval_every,
        norm=norm,
        init=instantiate_part(config, "init", Init),
        probe=instantiate_part(config, "probe", Probe),
        device=device,
        threads=choose_threads(config["threads"], model, config["batch_size"] * data.positions),
        compiled=torch.compile(model) if config["compile"] is True else None,  # type: ignore[arg-type]
        autocast=autocast,
        clip_norm=config["clip_norm"],
    )


def _check_inputs(config: Config, data: Data) -> None:
    """Raise UserError for an option that would scale the tokens of a text of the user's own; rules know ours."""
    if data.task == "language" and (chosen := config.choices["inputs"]) != "none":
        raise UserError(
            f"inputs={chosen} does not fit dataset={config.choices['dataset']}: what numbers its tokens would change "
            "its meaning; use inputs=none"
        )


def lay_out(model: nn.Module) -> nn.Module:
    """Lay the weights out as convolutions run fastest, on CPU and GPU; with weights for volumes torch refuses that."""
    if any(weight.dim() == 5 for weight in model.parameters()):
        return model
    return model.to(memory_format=torch.channels_last)


def build_norm(config: Config) -> Norm:
    """Build the scheme."""
    return instantiate_part(config, "norm", Norm)


def named_norm(name: str) -> Norm:
    """Build an option of `norm` with its default settings."""
    norm: Norm = instantiate_option("norm", name)
    return norm


def build_model(config: Config, norm: Norm, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
    """Build the network with its initial weights, the same for every scheme with one seed.

    Raises: UserError where `init` would overwrite trained weights, and as `make_model` does.
    """
    seed = config["seed"]
    with seeded(seed, "initialization"), hooks_drawn(seed), fitting(config):
        model = make_model(config, norm, input_shape, num_outputs)
    init = instantiate_part(config, "init", Init)
    if getattr(model, "pretrained", False) and not init.keeps_own:
        chosen = config.choices["init"]
        raise UserError(f"init={chosen} would overwrite the trained weights of model.weights; leave it out")
    if not (init.keeps_own and getattr(model, "keeps_initialization", False)):
        # A scheme's weights may be such as nobody can set; an `init` of the user's own may draw without its seed.
        with seeded(seed, "initial weights"), fitting(config):
            init.apply(model, seed)
    if isinstance(model, Transformer):
        model.begin()
    return model


def initialize_from_data(components: Components) -> None:
    """Run what initializes from data in a stream of its own: first the option of `init`, then the scheme.

    A weight may come out of it in another memory layout; it is laid out again, as the run will have it when it is
    continued: a sum over all gradients rounds by the order of its terms.

    Raises: UserError for data or weights that one of them cannot start from.
    """
    model, batches, norm = components.model, components.batches, components.norm
    known = dict(model.named_parameters())
    with seeded(components.seed, "data initialization"):
        components.init.fit(model, batches.first(batches.batch_size)[0])
        if type(norm).initialize is not Norm.initialize:  # so many large images would not be looked at
            try:
                norm.initialize(model, batches.first(INIT_EXAMPLES)[0])
            except ValueError as error:
                raise UserError(first_line(error)) from error
    check_initialized(model, known)
    lay_out(model)


def build_examples(
    config: Config, data: Data, device: torch.device, last: LastValue[dict[str, Examples]] | None = None
) -> dict[str, Examples]:
    """Fit the input normalization, usually on the training split, and put every split on the device.

    Args:
        last: keeps them for the next run that wants the same.
    """
    if last is None:
        return _fitted(config, data, device)
    key = (data.fingerprint, str(config["inputs"]), str(config["dataset"]), str(device))
    return dict(last.get(key, lambda: _fitted(config, data, device)))


def _fitted(config: Config, data: Data, device: torch.device) -> dict[str, Examples]:
    inputs: InputNorm = instantiate(config["inputs"])
    transform = inputs.fit(_fitting_inputs(data, getattr(inputs, "fit_on", "train")))
    crop, flip = config["dataset"].get("crop", 0), config["dataset"].get("flip", False)
    splits = {"train": data.train, "validation": data.validation, "test": data.test}
    make = partial(Examples, transform=transform, device=device, large=is_large(split.x for split in splits.values()))
    evaluated = {name: make(split.x, split.y) for name, split in splits.items() if name != "train" and len(split)}
    return {"train": make(data.train.x, data.train.y, crop=crop, flip=flip), **evaluated}


def _fitting_inputs(data: Data, fit_on: str) -> Array:
    return np.concatenate([split.x for split in data.splits]) if fit_on == "all" else data.train.x


def build_optimizer(config: Config, model: nn.Module, device: torch.device) -> Optimizer:
    """Build torch's optimizer, fused where torch has it (one pass over the parameters instead of several)."""
    optimizer = locate(config["optim"]["_target_"], config["plugins"])
    fusible = "fused" in inspect.signature(optimizer).parameters and device.type in ("cpu", "cuda")
    fused: dict[str, Any] = {"fused": True} if fusible and _has_real_weights(model) else {}
    groups_of = getattr(optimizer, "groups_of", nn.Module.parameters)  # where it has to know which layers they are of
    groups = list(groups_of(model))
    _check_groups(config, [group for group in groups if isinstance(group, dict)])
    return instantiate_part(config, "optim", Optimizer, params=groups, **fused)


def _check_groups(config: Config, groups: Iterable[Mapping[str, Any]]) -> None:
    """Raise UserError for a group with a setting of its own that the schedule sets for every group."""
    for group in groups:
        if "lr" in group:
            raise _overwritten(config, group, "lr", "every group has optim.lr times the schedule's factor")
        if "betas" in group and (beta1 := config["schedule"].get("beta1")) is not None:
            raise _overwritten(config, group, "betas", f"schedule.beta1={beta1} is of every group")


def _overwritten(config: Config, group: Mapping[str, Any], key: str, of_all: str) -> UserError:
    given = f"its groups_of gives a group {key}={group[key]}"
    return UserError(f"{config['optim']['_target_']}: {given}, and {of_all}; leave it out")


def _has_real_weights(model: nn.Module) -> bool:
    """Tell whether nothing complex is trained, which torch's fused optimizers do not take."""
    return all(weight.is_floating_point() for weight in model.parameters() if weight.requires_grad)


def build_schedule(config: Config, steps: int) -> Callable[[int], Hyperparameters]:
    """Return step -> the base rate times the schedule's factor, and Adam's betas where the schedule sets beta1.

    Raises: UserError for what is no such function.
    """
    options = {key: value for key, value in config["schedule"].items() if key != "_target_"}
    factors = locate(config["schedule"]["_target_"], config["plugins"])
    if not callable(factors):
        raise UserError(f"{config['schedule']['_target_']}: is no function of the step")
    schedule = partial(factors, total=steps, **options)
    optim = config["optim"]
    check_schedule(schedule, config["schedule"]["_target_"], steps)

    def hyperparameters(step: int) -> Hyperparameters:
        factor, beta1 = as_setting(schedule(step))
        lr = {"lr": optim["lr"] * factor}
        return lr if beta1 is None else {**lr, "betas": (beta1, optim["betas"][1])}

    return hyperparameters


def build_autocast(precision: str, device: torch.device) -> Callable[[], AbstractContextManager[Any]]:
    """Return what makes the context of a forward pass. Raises Unavailable where a device has no such precision."""
    if precision == "tf32" and device.type != "cuda":
        raise Unavailable(
            f"precision=tf32: GPUs of NVIDIA have it, and this is device={device.type}; allowed: fp32, bf16"
        )
    if precision in ("fp32", "tf32"):
        return nullcontext
    return bfloat16_autocast(device)
