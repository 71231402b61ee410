"""Config -> the parts of a run: examples on the device, network, scheme, optimizer, learning rate."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
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
from normexp.errors import UserError
from normexp.models.init.base import Init
from normexp.norms.base import Norm
from normexp.probes.base import Probe
from normexp.seeding import seeded
from normexp.training.batches import Examples, TrainingBatches, are_many
from normexp.training.hardware import (
    choose_device,
    choose_threads,
    flush_denormals,
    keep_large_blocks,
    leave_compiler_out,
)
from normexp.training.loop import Settings, Step, Task, make_step

TRIAL_EXAMPLES = 32  # enough for a scheme that needs more examples than channels, few enough to take no time
INIT_EXAMPLES = 500  # data-dependent initialization sees this many, as in Salimans & Kingma's code


@dataclass(frozen=True)
class Parts:
    """All that training needs, on the device and ready.

    Args:
        evaluated: the splits to evaluate, by name (validation only where there is one).
        settings: step -> what the optimizer's groups use there, the learning rate among them.
        steps: number of updates of the whole run.
        eval_every: steps between evaluations.
        clip_norm: largest norm of the whole gradient; None leaves it as it is.
        compiled: compile forward and backward together.
    """

    device: torch.device
    threads: int
    task: Task
    init: Init
    norm: Norm
    probe: Probe
    model: nn.Module
    forward: nn.Module  # the model, or its compiled form
    optimizer: Optimizer
    settings: Callable[[int], Settings]
    batches: TrainingBatches
    evaluated: dict[str, Examples]
    autocast: Callable[[], AbstractContextManager[object]]
    steps: int
    eval_every: int
    clip_norm: float | None
    compiled: bool

    def step(self) -> Step:
        """Return the function of one update, with clipping, the scheme's penalty and what it does after a step."""
        penalty, after = partial(self.norm.penalty, self.model), self.norm.step_hook(self.model)
        return make_step(
            self.forward, self.task, self.optimizer, self.autocast, penalty, after, self.clip_norm, self.compiled
        )

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return float(self.settings(step)["lr"])

    def before_evaluation(self) -> None:
        """Let the scheme set what evaluation needs from training inputs; called before every evaluation."""
        with self.autocast(), seeded(self.batches.seed, "before evaluation"):
            self.norm.before_evaluation(self.model, lambda count: self.batches.first(count)[0])


def build(config: Config, data: Data) -> Parts:
    """Build every part of a run. Raises UserError where two parts do not fit; writes nothing."""
    keep_large_blocks()
    flush_denormals()
    if not config["compile"]:
        leave_compiler_out()
    device = choose_device(config["device"])
    norm = build_norm(config)
    model = build_model(config, norm, data.input_shape, data.num_outputs)
    check_shapes(config, model, data)
    threads = choose_threads(config["threads"], model, config["batch_size"])
    torch.set_num_threads(threads)
    model.to(device).to(memory_format=torch.channels_last)  # convolutions run fastest so, on CPU and GPU
    examples = build_examples(config, data, device)
    batches = TrainingBatches(examples.pop("train"), config["batch_size"], config["seed"])
    steps = config["steps"] or config["epochs"] * batches.steps_per_epoch
    optimizer = build_optimizer(config, model, device)
    return Parts(
        device=device,
        threads=threads,
        task=_task(data),
        init=instantiate(config["init"]),
        norm=norm,
        probe=instantiate(config["probe"]),
        model=model,
        forward=torch.compile(model) if config["compile"] else model,  # type: ignore[arg-type]
        optimizer=optimizer,
        settings=build_settings(config, steps),
        batches=batches,
        evaluated=examples,
        autocast=_autocast(config["precision"], device),
        steps=steps,
        eval_every=config["eval_every"] or -(-batches.steps_per_epoch // config["evals_per_epoch"]),
        clip_norm=config["clip_norm"],
        compiled=config["compile"],
    )


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


def initialize_from_data(parts: Parts, seed: int) -> None:
    """Run what initializes from data in a stream of its own: first the option of `init`, then the scheme."""
    with seeded(seed, "data initialization"):
        parts.init.fit(parts.model, parts.batches.first(parts.batches.batch_size)[0])
        if type(parts.norm).initialize is not Norm.initialize:  # so many large images would not be looked at
            parts.norm.initialize(parts.model, parts.batches.first(INIT_EXAMPLES)[0])


_last: dict[tuple[str, ...], dict[str, Examples]] = {}  # what the last run trained on: a sweep's cells share it


def build_examples(config: Config, data: Data, device: torch.device) -> dict[str, Examples]:
    """Fit the input normalization, usually on the training split, and put every split on the device."""
    key = (data.fingerprint, str(config["inputs"]), str(config["dataset"]), str(device))
    if key not in _last:
        _last.clear()  # first, so that two never are in memory
        _last[key] = _fitted(config, data, device)
    return dict(_last[key])


def _fitted(config: Config, data: Data, device: torch.device) -> dict[str, Examples]:
    inputs: InputNorm = instantiate(config["inputs"])
    transform = inputs.fit(_fitting_inputs(data, getattr(inputs, "fit_on", "train")))
    crop, flip = config["dataset"].get("crop", 0), config["dataset"].get("flip", False)
    splits = {"train": data.train, "validation": data.validation, "test": data.test}
    make = partial(Examples, transform=transform, device=device, many=are_many(split.x for split in splits.values()))
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


def build_settings(config: Config, steps: int) -> Callable[[int], Settings]:
    """Return step -> settings: the base rate times the schedule's factor, and Adam's betas where that sets beta1."""
    options = {key: value for key, value in config["schedule"].items() if key != "_target_"}
    schedule = partial(locate(config["schedule"]["_target_"]), total=steps, **options)
    optim = config["optim"]

    def settings(step: int) -> Settings:
        factor, beta1 = schedule(step)
        rate = {"lr": optim["lr"] * factor}
        return rate if beta1 is None else {**rate, "betas": (beta1, optim["betas"][1])}

    return settings


def _task(data: Data) -> Task:
    return Task("accuracy") if data.task == "classification" else Task("rmse", scale=data.target_scale)


def _autocast(precision: str, device: torch.device) -> Callable[[], AbstractContextManager[Any]]:
    if precision == "fp32":
        return nullcontext
    return partial(torch.autocast, device.type, torch.bfloat16)
