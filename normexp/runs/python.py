"""One run from Python: check it, train it, and get its network back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any

from normexp.config import Config, groups, option, options
from normexp.config import compose as composed
from normexp.config.defaults import check_values, with_defaults
from normexp.config.instantiate import TRUSTED, is_inside, own_parts
from normexp.config.overrides import check_truth, typed_overrides
from normexp.config.places import at_home
from normexp.config.recipe import naming, recipe, with_recipe
from normexp.config.text import shown
from normexp.errors import UserError, as_python
from normexp.records import CHECKPOINT, CONFIG, RunDirectory, damaged, find_run
from normexp.runs import run as runs

if TYPE_CHECKING:
    from torch import nn

MADE_OF = ("model", "norm", "init")  # groups that a network with its weights is made of


def compose(overrides: Sequence[str] = ()) -> Config:
    """Check one configuration and resolve it, as `normexp run --cfg` does: what `run` would train.

    Args:
        overrides: as `run` takes them; none resolves the defaults with their recipe.

    Raises: UserError for anything that cannot work, in one line.
    """
    overrides = typed_overrides(overrides)
    with naming(recipe(overrides)):
        return composed(with_recipe(overrides))


def run(overrides: Sequence[str] = (), *, force: bool = False) -> RunDirectory:
    """Train one configuration, as `normexp run` does, and return its run directory.

    A finished run is not trained again, an interrupted one continues. What the command line prints goes to the
    logger `normexp`.

    Args:
        overrides: as typed at the command line: ["norm=batch", "model=mlp", "optim.lr=0.1"]; none trains what
            `normexp run` trains.
        force: train again from the start, over the old record.

    Raises: UserError for a mistake, in one line; Interrupted after Ctrl-C or SIGTERM, where the same call continues.
    """
    overrides = typed_overrides(overrides)
    check_truth("force", force)
    with naming(recipe(overrides)):
        return runs.run(composed(with_recipe(overrides)), force=force)


def load_model(
    path: str | os.PathLike[str],
    *,
    input_shape: tuple[int, ...] | None = None,
    num_outputs: int | None = None,
    plugins: Sequence[str] = (),
) -> nn.Module:
    """Return the trained network of a run, on the CPU, in evaluation mode.

    Args:
        path: the run directory.
        input_shape: of one example, without the batch; by default what the record says, of an older one that of the
            run's data set, which is then loaded.
        num_outputs: the number of classes, or of targets; the same.
        plugins: modules that parts of the user's own may come from. A record by itself never names code.

    Raises: UserError where the record or its checkpoint is missing or damaged, or the data cannot be had.
    """
    _check_given(path, input_shape, num_outputs)
    _check_plugins(plugins)
    from normexp.runs.checkpoint import read_weights
    from normexp.training.build import build_model, build_norm
    from normexp.training.process import modes_of_torch

    directory = find_run(at_home(os.fspath(path)), f"load_model({str(path)!r})")
    checkpoint = directory.path / CHECKPOINT
    if not os.path.lexists(checkpoint) or directory.status["status"] == "diverged":  # saved on the way there
        raise UserError(_without_weights(directory))
    config = recorded(directory, plugins)
    _check_named(directory, config)
    if input_shape is None or num_outputs is None:
        shape, outputs = _shapes(directory, config)
        input_shape = shape if input_shape is None else input_shape
        num_outputs = outputs if num_outputs is None else num_outputs
    with modes_of_torch():
        model = build_model(config, build_norm(config), input_shape, num_outputs)
        try:
            model.load_state_dict(read_weights(checkpoint, model))
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise UserError(f"{directory.path}: its checkpoint is of another network ({reason})") from None
        return model.eval()


def _shapes(directory: RunDirectory, config: Config) -> tuple[tuple[int, ...], int]:
    """Return the shape of an example and the number of outputs, as recorded; of an older record those of its data."""
    with suppress(UserError):  # weights are there, whatever became of the file beside them
        if {"input_shape", "num_outputs"} <= directory.data.keys():
            return tuple(directory.data["input_shape"]), directory.data["num_outputs"]
    from normexp.data.loading import Loader

    try:
        data = Loader().load(config)
    except UserError as error:
        raise UserError(f"{error}; with input_shape= and num_outputs= load_model needs no data") from None
    return data.input_shape, data.num_outputs


def _check_given(path: object, input_shape: object, num_outputs: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise UserError(f"load_model: {as_python(path)} is no path; give one run directory")
    if path == "":
        raise UserError("load_model: '' is empty; is a variable not set?")
    if input_shape is not None and not (
        isinstance(input_shape, Sequence) and input_shape and all(map(_is_size, input_shape))
    ):
        raise UserError(f"input_shape={as_python(input_shape)}: must be a tuple, for example (3, 32, 32) or (13,)")
    if num_outputs is not None and not _is_size(num_outputs):
        raise UserError(f"num_outputs={as_python(num_outputs)}: must be an integer in [1, inf)")


def _is_size(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def _without_weights(directory: RunDirectory) -> str:
    """Say why a run has no checkpoint: a study and one that diverged keep none, one that began has none yet."""
    study, state = with_defaults(directory.config)["_choices_"]["study"], directory.status["status"]
    if study != "none":
        return f"{directory.path}: study={study} measures, and trains no network to be loaded"
    if state == "diverged":
        return f"{directory.path}: diverged, and such a run keeps no weights; a smaller optim.lr may help"
    if state != "done":
        return f"{directory.path}: {state}, without weights so far; the command on the first line of {CONFIG} goes on"
    again = "`normexp run ... --force` trains the run again"
    return f"{directory.path / CHECKPOINT}: not there, so the weights are gone; {again}"


def recorded(directory: RunDirectory, plugins: Sequence[str]) -> Config:
    """Return the configuration that a record holds, with today's defaults for keys that it does not have yet.

    The record's own `plugins` are not used: it may come from anybody. Raises UserError for one text in place of a list.
    """
    _check_plugins(plugins)
    record = with_defaults(directory.config)
    values = {key: value for key, value in record.items() if not key.startswith("_")} | {"plugins": list(plugins)}
    for group in groups():
        _check_code(directory, group, values[group], record["_choices_"][group])
    try:
        check_values(record)
    except UserError as error:
        raise damaged(directory.path / CONFIG, error) from None
    return Config(values, record["_choices_"], record.get("_changes_") or {})


def _check_plugins(plugins: object) -> None:
    if isinstance(plugins, str):  # whose letters would count as modules
        raise UserError(f"plugins={plugins!r}: must be a list of names of modules; did you mean plugins=[{plugins!r}]?")
    if not (isinstance(plugins, Sequence) and all(isinstance(each, str) for each in plugins)):
        raise UserError(f"plugins={as_python(plugins)}: must be a list of names of modules")


def _check_named(directory: RunDirectory, config: Config) -> None:
    """Raise UserError for code of the user's own that the network is made of, in a module that is no plugin."""
    parts = [target for key, target in own_parts(config).items() if key.startswith(MADE_OF)]
    modules = sorted({part.rpartition(".")[0] for part in parts if not is_inside(part, TRUSTED)})
    if not all(is_inside(module, config["plugins"]) for module in modules):
        call = f"load_model(..., plugins={modules})"
        raise UserError(f"{directory.path}: is made of code outside normexp, which must be named: {call}")


def _check_code(directory: RunDirectory, group: str, node: Any, choice: str) -> None:
    """Raise UserError where a record names code of ours that is not what the chosen option names, or nothing at all."""
    if not isinstance(node, Mapping):
        raise damaged(directory.path / CONFIG, f"its {group} is {shown(node)}, no mapping")
    ours = option(group, choice)["_target_"] if choice in options(group) else None
    inside = [part["_target_"] for part in node.values() if isinstance(part, Mapping) and "_target_" in part]
    if (ours is None and node["_target_"].startswith("normexp.")) or node["_target_"] != (ours or choice):
        raise UserError(f"{directory.path / CONFIG}: damaged: {group}={choice} is not {node['_target_']}")
    if foreign := [target for target in inside if target.startswith("normexp.") and ".norms." not in target]:
        raise UserError(f"{directory.path / CONFIG}: damaged: {foreign[0]} is no scheme")
