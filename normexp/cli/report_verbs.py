"""`normexp report`, `plot`, `table` and `best`: tables, figures, verdicts and the page, from records alone."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from normexp.cli.streams import print_answer
from normexp.config.text import as_argument
from normexp.errors import UserError
from normexp.records import find_runs

USUAL = "md"  # format of a table
logger = logging.getLogger("normexp")


def report(arguments: argparse.Namespace) -> int:
    if arguments.out is not None and arguments.open:
        raise UserError("report: --open shows the page and --out writes figures alone; give one of the two")
    if arguments.out is None and any((arguments.format, arguments.width, arguments.style != "page")):
        raise UserError("report: --format, --style and --width go with --out DIR, where the figures are written")
    if arguments.out is not None:
        from normexp.report.commands.experiments import figures_to

        if folders := _folders(arguments.names):
            instead = shlex.join(["normexp", "plot", as_argument(folders[0]), "--out", as_argument(arguments.out)])
            raise UserError(f"report: --out is of experiments, and {folders[0]} is a folder; did you mean `{instead}`?")
        return _print(figures_to(arguments.out, arguments.names, **_figure_options(arguments)), show=False)
    return _print(_written(arguments.names), arguments.open)


def _figure_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how figures are written."""
    return {"formats": arguments.format, "style": arguments.style, "width": arguments.width}


def _written(words: list[str]) -> Iterator[Path]:
    """Render experiments and folders of runs; yield the files, the page last."""
    from normexp.report.commands.experiments import report_all
    from normexp.report.page.runs import write_runs_page

    folders = _folders(words)
    rest = [word for word in words if word not in folders]
    if folders and rest and all("=" in word for word in rest):
        told = f"is of experiments, and {folders[0]} is a folder of runs"
        raise UserError(f"report: {rest[0]}: {told}; leave it out, or name an experiment, too")
    for folder in folders:
        yield write_runs_page(Path(folder))
    if rest or not folders:
        yield from report_all(rest)


def _folders(words: list[str]) -> list[str]:
    """Return the words that are folders of runs, and no experiments."""
    from normexp.experiments.load import is_file, names

    paths = [word for word in words if "/" in word and "=" not in word and not is_file(word)]
    return [word for word in words if word in paths or (Path(word).is_dir() and word not in names())]


def _print(paths: Iterator[Path], show: bool) -> int:
    last = None
    for last in paths:
        print(last)
    if show and last is not None and not webbrowser.open(last.resolve().as_uri()):
        logger.info("no browser can be opened here")
    return 0


def plot(arguments: argparse.Namespace) -> int:
    paths = _paths("plot", arguments)
    from normexp.report.commands.runs import plot_command

    options = {"by": _keys("--by", arguments.by), "last": arguments.last_sweep}
    for path in plot_command(paths, arguments.out, arguments.metric, **options, **_figure_options(arguments)):
        print(path)
    return 0


def table(arguments: argparse.Namespace) -> int:
    paths = _paths("table", arguments)
    from normexp.report.commands.runs import table_command

    format = _format("table", arguments)
    options = {"by": _keys("--by", arguments.by), "last": arguments.last_sweep, "beside": arguments.against}
    print_answer(table_command(paths, arguments.out, format, **options), format == "json")
    return 0


def _format(verb: str, arguments: argparse.Namespace) -> str:
    if arguments.json and arguments.format is not None:
        raise UserError(f"{verb}: --json and --format {arguments.format}: give one of the two")
    return "json" if arguments.json else arguments.format or USUAL


def best(arguments: argparse.Namespace) -> int:
    paths = _paths("best", arguments)
    from normexp.report.commands.runs import best_command

    format, options = _format("best", arguments), {"last": arguments.last_sweep, "out": arguments.out}
    text, figure = best_command(paths, _keys("--over", arguments.over), arguments.metric, format, **options)
    print_answer(text, format == "json")
    for path in figure:
        logger.info(str(path))
    if arguments.out is not None and not figure:
        logger.info(f"--out {arguments.out}: no figure: no run that ended well has a number to stand at")
    return 0


def _keys(option: str, given: str | None) -> list[str]:
    """Return the keys of an option. Raises UserError for one that is empty or named twice."""
    keys = given.split(",") if given else []
    if "" in keys:
        raise UserError(f"{option} {given}: a key is missing beside a comma")
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise UserError(f"{option} {given}: {twice} is named twice; name it once")
    return keys


def _paths(verb: str, arguments: argparse.Namespace) -> list[str]:
    """Return the paths and filters. Raises UserError for a path that is not there, before anything is imported."""
    if "" in arguments.paths or not (arguments.paths or arguments.last_sweep):
        raise UserError(f"{verb}: no PATH given; give run directories or a folder of them (results/runs)")
    find_runs(path for path in arguments.paths if "=" not in path and not os.path.lexists(path))
    return list(arguments.paths)
