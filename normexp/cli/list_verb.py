"""`normexp list`: the options of every group, the experiments, their schema, and the matrix of schemes."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap

from normexp.cli.command_line import KINDS, LISTS
from normexp.cli.streams import print_answer
from normexp.config.hints import KEYS
from normexp.config.options import option, options
from normexp.errors import UserError, unknown
from normexp.evidence.scales import SMOKE
from normexp.experiments.load import content
from normexp.records import plain_json

NARROWEST = 60  # letters of a terminal into which lines are broken


def show(arguments: argparse.Namespace) -> int:
    """Print the options of one kind, or of all."""
    _check(arguments)
    if arguments.schema:
        from normexp.cli.experiment_verbs import schema

        return schema()
    if arguments.matrix:
        return _matrix()
    kinds = [arguments.what] if arguments.what else list(LISTS)
    if arguments.json:
        print_answer(plain_json({kind: _of_kind(kind) for kind in kinds}), is_json=True)
        return 0
    for place, kind in enumerate(kinds):
        if len(kinds) > 1:
            print(("\n" if place else "") + kind)
        for each in _of_kind(kind):
            width = 24 if kind == "experiments" else 22
            print(_fitting(f"  {each['name']:{width}} ", f"{each['about']}  [{each['source'] or '-'}]", width + 3))
            if kind == "experiments":
                print(_fitting("", each["needs"], width + 3))
    return 0


def _fitting(head: str, text: str, margin: int) -> str:
    """Return a line; on a terminal that is narrower the text goes on below itself. Other programs read whole lines."""
    line, width = f"{head:{margin}}{text}", max(shutil.get_terminal_size().columns, NARROWEST)
    if not _is_terminal():
        return line
    return textwrap.fill(line, width, subsequent_indent=" " * margin, break_on_hyphens=False)


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _check(arguments: argparse.Namespace) -> None:
    """Raise UserError for what there is no list of, and for flags that are of another one, or go by themselves."""
    if arguments.what is not None and arguments.what not in KINDS:
        raise _unknown(arguments.what)
    if arguments.json and arguments.matrix:
        raise UserError("list: --json is of names and --matrix of measurements; give one of the two")
    if arguments.schema and arguments.matrix:
        raise UserError("list: --schema is of experiments and --matrix of norms; give one of the two")
    if arguments.schema and arguments.what != "experiments":
        raise UserError("list: --schema is of experiments: normexp list experiments --schema")
    if arguments.matrix and arguments.what != "norms":
        raise UserError("list: --matrix is of norms: normexp list norms --matrix")


def _unknown(what: str) -> UserError:
    """Return the error for what there is no list of; what other programs call a group is told, too: networks."""
    meant = f"{KEYS.get(what.casefold().removesuffix('s'), '')}s"
    return unknown("list:", what, KINDS, meant if meant in KINDS else None)


def _of_kind(kind: str) -> list[dict[str, str]]:
    """Return name, one line and source of every option, or experiment; of experiments what they need, too."""
    if kind == "experiments":
        return [_experiment(name) for name in options("experiment")]
    return [_option(LISTS[kind], name) for name in options(LISTS[kind])]


def _option(group: str, name: str) -> dict[str, str]:
    about = option(group, name)
    return {"name": name, "about": about.get("_about_", ""), "source": about.get("_source_", "-").removeprefix("-")}


def _experiment(name: str) -> dict[str, str]:
    about = content(name)
    source = f"{about['paper']}, {about['item']}"
    return {"name": name, "about": about["title"], "source": source, "needs": _needs(name)}


def _needs(name: str) -> str:
    """Return the data of an experiment, and how long it takes at each scale: `data: mnist; cpu 6 min, paper 36 min`."""
    about = content(name)
    scales = {scale: each or {} for scale, each in about["scales"].items() if scale != SMOKE}
    sets = [about.get("common", {}), *(each.get("common", {}) for each in scales.values()), *about["arms"].values()]
    sets += [own for each in scales.values() for own in each.get("arms", {}).values()]
    data = dict.fromkeys(str(each["dataset"]) for each in sets if "dataset" in each)
    known = about.get("minutes", {})
    times = [f"{scale} {_time(known[scale]) if scale in known else 'not measured'}" for scale in scales]
    return f"data: {', '.join(data) or 'its own'}; {', '.join(times)}"


def _time(minutes: float) -> str:
    return f"{minutes / 60:.2g} h" if minutes >= 60 else f"{minutes:g} min" if minutes >= 1 else "seconds"


def _matrix() -> int:
    from normexp.norms.checks.commands import matrix_command
    from normexp.training.build import named_norm

    print(matrix_command({name: named_norm(name) for name in options("norm")}), end="")
    return 0
