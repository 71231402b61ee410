"""`normexp reproduce`, `claims`, `laws`, `new`, `freeze` and `list experiments --schema`: experiments."""

from __future__ import annotations

import argparse

from normexp.cli.streams import print_answer
from normexp.errors import UserError, unknown


def reproduce(arguments: argparse.Namespace) -> int:
    from normexp.report.commands.reproduce import reproduce_all
    from normexp.sweeps.pool import stops_between_runs

    with stops_between_runs():
        return reproduce_all(
            arguments.names,
            everything=arguments.all,
            arm=arguments.cell,
            jobs=arguments.jobs,
            dry_run=arguments.dry_run,
            force=arguments.force,
            plan_only=arguments.power,
            of_laws=arguments.laws,
            take=arguments.take,
        )


def claims(arguments: argparse.Namespace) -> int:
    from normexp.report.commands.ledger import ledger

    print_answer(ledger(arguments.names, plain=arguments.json), arguments.json)
    return 0


def laws(arguments: argparse.Namespace) -> int:
    from normexp.report.commands.ledger import laws_page

    print_answer(laws_page(arguments.names, plain=arguments.json), arguments.json)
    return 0


def new(arguments: argparse.Namespace) -> int:
    if arguments.what != "experiment":
        raise unknown("new:", arguments.what, ["experiment"])
    from normexp.experiments.skeleton import write_skeleton

    path = write_skeleton(arguments.name, arguments.like)
    print(f"{path}\nnormexp reproduce {path} scale=smoke")
    return 0


def freeze(arguments: argparse.Namespace) -> int:
    """Write what the experiments declare; say what was changed since it was frozen, and where that came too late."""
    from normexp.experiments.freeze import changes_since_frozen, frozen_path
    from normexp.experiments.freeze import freeze as write
    from normexp.experiments.keys import RENDER
    from normexp.experiments.load import load
    from normexp.records import printable
    from normexp.report.commands.named import plugins_of, results_of, split
    from normexp.runs.run import check_writable

    chosen, given = split(arguments.names, RENDER)
    if not chosen:
        raise UserError("freeze: no experiment named; normexp freeze NAME scale=cpu")
    results = results_of(given)
    check_writable(results)
    for name in chosen:
        experiment = load(name, given.get("scale"), plugins_of(given))
        written = write(experiment, results, ahead=True)
        print(written or f"{frozen_path(experiment, results)}: is there already")
        for change in changes_since_frozen(experiment, results):
            print(f"  {printable(change)}")
    return 0


def schema() -> int:
    from normexp.experiments.schema import ExperimentFile
    from normexp.records import plain_json

    print_answer(plain_json(ExperimentFile.model_json_schema(by_alias=True)), is_json=True)
    return 0
