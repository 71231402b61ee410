"""Config -> the components of a run: examples on the device, network, scheme, optimizer, learning rate."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from normexp.config import Config
from normexp.config.instantiate import instantiate, locate
from normexp.data.base import Array, Data
from normexp.data.inputs import InputNorm
from normexp.data.loading import LastValue
from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.seeding import seeded
from normexp.training.batches import Examples, TrainingBatches, is_large
from normexp.training.components import Components, Hyperparameters
from normexp.training.hardware import choose_device, choose_threads
from normexp.training.task import task_of

TRIAL_EXAMPLES = 32  # enough for a scheme that needs more examples than channels, few enough to take no time
INIT_EXAMPLES = 500  # data-dependent initialization sees this many, as in Salimans & Kingma's code


def build(config: Config, data: Data, examples: LastValue[dict[str, Examples]] | None = None) -> Components:
    """Build every part of a run. Raises UserError where two parts do not fit; writes nothing, sets nothing.

    Args:
        examples: what runs before this one have put on the device, where they may share it.
    """
    device = choose_device(config["device"])
    norm = build_norm(config)
    model = build_model(config, norm, data.input_shape, data.num_outputs)
    check_shapes(config, model, data)
    lay_out(model.to(device))
    splits = build_examples(config, data, device, examples)
    batches = TrainingBatches(splits.pop("train"), config["batch_size"], config["seed"])
    steps = config["steps"] or config["epochs"] * batches.steps_per_epoch
    return Components(
        model=model,
        task=task_of(data),
        optimizer=build_optimizer(config, model, device),
        batches=batches,
        steps=steps,
        seed=config["seed"],
        schedule=build_schedule(config, steps),
        evaluated=splits,
        eval_every=config["eval_every"] or -(-batches.steps_per_epoch // config["evals_per_epoch"]),
        norm=norm,
        init=instantiate(config["init"]),
        probe=instantiate(config["probe"]),
        device=device,
        threads=choose_threads(config["threads"], model, config["batch_size"]),
        compiled=torch.compile(model) if config["compile"] else None,  # type: ignore[arg-type]
        autocast=_autocast(config["precision"], device),
        clip_norm=config["clip_norm"],
    )


def lay_out(model: nn.Module) -> nn.Module:
    """Lay the weights out as convolutions run fastest, on CPU and GPU."""
    return model.to(memory_format=torch.channels_last)


def build_norm(config: Config) -> Norm:
    """Build the scheme; the only part that may come from a plugin."""
    norm = instantiate(config["norm"], plugins=config["plugins"])
    if not isinstance(norm, Norm):
        raise UserError(f"{config['norm']['_target_']}: is no Norm (derive it from normexp.norms.base.Norm)")
    return norm


def build_model(config: Config, norm: Norm, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
    """Build the network with its initial weights, the same for every scheme with one seed."""
    with seeded(config["seed"], "initialization"):
        model = instantiate(config["model"], input_shape=input_shape, num_outputs=num_outputs, norm=norm)
        assert isinstance(model, nn.Module)
    init = instantiate(config["init"])
    if not (init.keeps_own and getattr(model, "keeps_initialization", False)):
        init.apply(model, config["seed"])
    return model


def check_shapes(config: Config, model: nn.Module, data: Data) -> None:
    """Run a copy of the network on a few zero images: what cannot work is said now, before anything is written."""
    batch = torch.zeros(min(TRIAL_EXAMPLES, config["batch_size"], len(data.train)), *data.input_shape)
    try:
        with torch.no_grad(), seeded(config["seed"], "trial"):
            copy.deepcopy(model)(batch)
    except (ValueError, RuntimeError) as error:
        chosen = f"model={config.choices['model']} norm={config.choices['norm']} dataset={config.choices['dataset']}"
        way_out = "; model.normalize_output=false may help" if config["model"].get("normalize_output") else ""
        raise UserError(f"{chosen}: {str(error).splitlines()[0]}{way_out}") from error


def initialize_from_data(components: Components) -> None:
    """Run what initializes from data in a stream of its own: first the option of `init`, then the scheme.

    A weight may come out of it in another memory layout; it is laid out again, as the run will have it when it is
    continued: a sum over all gradients rounds by the order of its terms.
    """
    model, batches, norm = components.model, components.batches, components.norm
    with seeded(components.seed, "data initialization"):
        components.init.fit(model, batches.first(batches.batch_size)[0])
        if type(norm).initialize is not Norm.initialize:  # so many large images would not be looked at
            norm.initialize(model, batches.first(INIT_EXAMPLES)[0])
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
    splits = {"train": (data.train,), "all": (data.train, data.validation, data.test)}[fit_on]
    return np.concatenate([split.x for split in splits]) if len(splits) > 1 else data.train.x


def build_optimizer(config: Config, model: nn.Module, device: torch.device) -> Optimizer:
    """Build torch's optimizer, fused where torch has it (one pass over the parameters instead of several)."""
    parameters = inspect.signature(locate(config["optim"]["_target_"])).parameters
    fusible = "fused" in parameters and device.type in ("cpu", "cuda")
    fused: dict[str, Any] = {"fused": True} if fusible else {}
    optimizer = instantiate(config["optim"], params=model.parameters(), **fused)
    assert isinstance(optimizer, Optimizer)
    return optimizer


def build_schedule(config: Config, steps: int) -> Callable[[int], Hyperparameters]:
    """Return step -> the base rate times the schedule's factor, and Adam's betas where the schedule sets beta1."""
    options = {key: value for key, value in config["schedule"].items() if key != "_target_"}
    schedule = partial(locate(config["schedule"]["_target_"]), total=steps, **options)
    optim = config["optim"]

    def hyperparameters(step: int) -> Hyperparameters:
        factor, beta1 = schedule(step)
        lr = {"lr": optim["lr"] * factor}
        return lr if beta1 is None else {**lr, "betas": (beta1, optim["betas"][1])}

    return hyperparameters


def _autocast(precision: str, device: torch.device) -> Callable[[], AbstractContextManager[Any]]:
    if precision == "fp32":
        return nullcontext
    return partial(torch.autocast, device.type, torch.bfloat16)
