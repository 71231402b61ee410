"""`normexp list`: the options of every group, the experiments, their schema, and the matrix of schemes."""

from __future__ import annotations

import argparse

from normexp.cli.parsers import LISTS
from normexp.config.options import config_dir, load_yaml, option, options
from normexp.errors import UserError, unknown


def show(arguments: argparse.Namespace) -> int:
    """Print the options of one kind, or of all."""
    if arguments.what is not None and arguments.what not in (*LISTS, "experiments"):
        raise unknown("list:", arguments.what, [*LISTS, "experiments"])
    if arguments.schema:
        if arguments.what != "experiments":
            raise UserError("list: --schema is of experiments: normexp list experiments --schema")
        from normexp.cli.experiment_verbs import schema

        return schema()
    if arguments.matrix:
        return _matrix(arguments.what)
    if arguments.what == "experiments":
        return _experiments()
    kinds = [arguments.what] if arguments.what else list(LISTS)
    for place, kind in enumerate(kinds):
        if len(kinds) > 1:
            print(("\n" if place else "") + kind)
        for name in options(LISTS[kind]):
            about = option(LISTS[kind], name)
            print(f"  {name:22} {about.get('_about_', '')}  [{about.get('_source_', '-')}]")
    return 0


def _experiments() -> int:
    for path in sorted((config_dir() / "experiment").glob("*.yaml")):
        about = load_yaml(path)
        print(f"  {path.stem:24} {about['title']}  [{about['paper']}, {about['item']}]")
    return 0


def _matrix(what: str | None) -> int:
    if what != "norms":
        raise UserError("list: --matrix is of norms: normexp list norms --matrix")
    from normexp.config import compose
    from normexp.norms.checks.commands import matrix_command
    from normexp.training.build import build_norm

    print(matrix_command({name: build_norm(compose([f"norm={name}"])) for name in options("norm")}), end="")
    return 0
