"""`normexp run`: one configuration, from the command line, a file or a run."""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from normexp.cli.composed import overrides
from normexp.cli.streams import prints_beside_answer
from normexp.cli.sweep_verbs import sweep
from normexp.config.recipe import Item, described, naming, recipe, texts, with_recipe
from normexp.config.text import as_argument
from normexp.errors import UserError
from normexp.records import printable_lines

if TYPE_CHECKING:
    from normexp.config import Config
    from normexp.records import RunDirectory

logger = logging.getLogger("normexp")


def run(arguments: argparse.Namespace) -> int:
    if arguments.multirun:
        _check_grid(arguments)
        return sweep(arguments)
    if arguments.dry_run or arguments.jobs is not None:
        raise UserError(f"run: {'--dry-run' if arguments.dry_run else '--jobs'} is of a grid; use `normexp sweep`")
    return _train(arguments)


def _check_grid(arguments: argparse.Namespace) -> None:
    """Raise UserError for what is said of one run beside -m: a sweep would train as if it were not there."""
    for name in ("cfg", "save", "quiet"):
        if getattr(arguments, name):
            hint = "; --dry-run prints the plan of a grid" if name == "cfg" else ""
            raise UserError(f"run: --{name} is of one run and -m of a grid; give one of the two{hint}")


def _train(arguments: argparse.Namespace) -> int:
    composed = overrides(arguments)
    config, settings = _config(arguments, composed), recipe(composed)
    from normexp.runs.settings import saved

    if arguments.cfg:
        with saved(config, arguments.save):
            print(_with_origins(config, settings), end="")
        return 0
    from normexp.runs.progress import NullProgress, ProgressReporter
    from normexp.runs.run import run

    progress = NullProgress if arguments.quiet else ProgressReporter
    notes = [described(settings)] if settings and not arguments.quiet else []
    with saved(config, arguments.save), naming(settings), prints_beside_answer():
        directory = run(config, force=arguments.force, progress=progress, notes=notes)
    if not arguments.quiet:
        from normexp.report.commands.closing import compare, study_results

        trained = config.choices["study"] == "none"
        print(compare(directory) if trained else study_results(directory))
        if trained and config.choices["dataset"] == "text" and directory.status["status"] == "done":
            _print_sample(config, directory)
    print(directory.path)
    return 0


def _with_origins(config: Config, settings: Mapping[str, Item]) -> str:
    """Return config.yaml with a line for each value that comes from a recipe."""
    command, _, rest = config.to_yaml().partition("\n")
    values = zip(texts(settings), settings.values(), strict=True)
    return "\n".join([command, *(f"# {text}: recipe of {item.origin}" for text, item in values), rest])


def _print_sample(config: Config, directory: RunDirectory) -> None:
    """Print what the network of a run writes that was trained on a text."""
    from normexp.runs.sample import sample

    try:
        with prints_beside_answer():
            (text,) = sample(directory.path, file=config["dataset"]["file"], plugins=config["plugins"])
    except UserError as error:  # its last update was one too many, or the text has changed meanwhile
        logger.info(f"no sample: {error}")
    else:
        print(f"sample ({_more(config, directory)} writes more):\n{printable_lines(text)}\n")


def _more(config: Config, directory: RunDirectory) -> str:
    """Return the command that samples a run; its record knows neither the folder of its text nor what it may import."""
    plugins = [override for override in config.overrides if override.startswith("plugins=")]
    file = config["dataset"]["file"]
    elsewhere = ["--file", as_argument(file)] if file != directory.config["dataset"]["file"] else []
    return shlex.join(["normexp", "sample", as_argument(directory.path), *plugins, *elsewhere])


def _config(arguments: argparse.Namespace, composed: list[str]) -> Config:
    from normexp.config import compose

    try:
        with naming(recipe(composed)):
            return compose(with_recipe(composed))
    except UserError as error:
        if not (arguments.config or arguments.like) or not _works(arguments.overrides):
            raise
        raise UserError(f"{_origin(arguments)}: {error}") from None


def _works(typed: list[str]) -> bool:
    """Tell whether what is typed makes a configuration by itself: then a mistake is in the settings."""
    from normexp.config import compose

    try:
        compose(with_recipe(typed))
    except UserError:
        return False
    return True


def _origin(arguments: argparse.Namespace) -> str:
    return f"--config {arguments.config}" if arguments.config else f"--like {arguments.like}"
