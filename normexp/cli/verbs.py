"""The command line: verbs to functions. Imports nothing heavy at module level (no torch, pandas, matplotlib)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

from normexp.cli.log import logger, logging_to_stderr
from normexp.cli.parsers import LISTS, flags, parsers
from normexp.config.options import option, options
from normexp.errors import Interrupted, UserError, did_you_mean, nearest, unknown


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0 done, 1 a run failed, 2 a mistake of the user, 130 interrupted."""
    with logging_to_stderr():
        return _main(list(sys.argv[1:] if arguments is None else arguments))


def _main(given: list[str]) -> int:
    debug = "--debug" in given
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character must not fail a run
    try:
        return _dispatch([_at_home(word) for word in given if word != "--debug"])
    except UserError as error:
        if debug:
            raise
        for line in str(error).splitlines():
            logger.error(line)
        return 2
    except Interrupted as stopped:
        logger.error(str(stopped))
        return 130
    except KeyboardInterrupt:
        logger.error("interrupted")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `normexp list | head`
        sys.stdout = None  # nothing is left to flush at exit
        return 0
    except Exception as error:
        if debug:
            raise
        reason = (str(error).strip() or "no message").splitlines()[0]
        logger.error(f"failed: {type(error).__name__}: {reason} (--debug shows the traceback)")
        return 1


def _at_home(word: str) -> str:
    """Expand the ~ of KEY=~/PATH, which a shell leaves as it is."""
    key, equals, value = word.partition("=")
    return f"{key}={os.path.expanduser(value)}" if equals and value.startswith("~") else word


def _dispatch(arguments: list[str]) -> int:
    parser, commands = parsers()
    if not arguments:
        raise UserError(f"no command; give one of {', '.join(VERBS)} (normexp --help says what they do)")
    verb, *rest = arguments
    if verb in flags(parser):
        parser.parse_args([verb])  # prints and exits
    if verb.startswith("-"):
        raise unknown("option", verb, [*flags(parser), "--debug"])
    if verb not in VERBS:
        hint = "; did you mean `normexp run ...`?" if "=" in verb else did_you_mean(nearest(verb, VERBS))
        raise UserError(f"no command {verb!r}; allowed: {', '.join(VERBS)}{hint}")
    parsed, left = commands[verb].parse_known_intermixed_args(rest)  # flags may stand between overrides
    if left:
        wrong = next((word for word in left if word.startswith("-")), None)
        raise (
            unknown(f"{verb}: option", wrong, [*flags(commands[verb]), "--debug"])
            if wrong
            else UserError(f"{verb}: {left[0]!r} is one argument too many")
        )
    return VERBS[verb](parsed)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.multirun:
        return _sweep(arguments)
    from normexp.config import compose
    from normexp.config.overrides import check_once

    check_once(arguments.overrides)
    config = compose(arguments.overrides)
    if arguments.cfg:
        print(config.to_yaml(), end="")
        return 0
    from normexp.runs.progress import NullProgress, ProgressReporter
    from normexp.runs.run import run

    progress = NullProgress if arguments.quiet else ProgressReporter
    directory = run(config, force=arguments.force, progress=progress)
    if not arguments.quiet:
        from normexp.report.commands import compare, found

        print(compare(directory) if config.choices["study"] == "none" else found(directory))
    print(directory.path)
    return 0


def _sweep(arguments: argparse.Namespace) -> int:
    from normexp.config.overrides import check_once
    from normexp.sweeps.sweep import sweep

    check_once(arguments.overrides)
    return sweep(arguments.overrides, arguments.jobs, dry_run=arguments.dry_run, force=arguments.force)


def _reproduce(arguments: argparse.Namespace) -> int:
    from normexp.report.ledger import reproduce_all

    return reproduce_all(
        arguments.names,
        everything=arguments.all,
        arm=arguments.cell,
        jobs=arguments.jobs,
        dry_run=arguments.dry_run,
        force=arguments.force,
        plan_only=arguments.power,
    )


def _report(arguments: argparse.Namespace) -> int:
    from normexp.report.ledger import figures_to, report_all

    look = {"formats": arguments.format, "style": arguments.style, "width": arguments.width}
    if arguments.out is None and any((arguments.format, arguments.width, arguments.style != "page")):
        raise UserError("report: --format, --style and --width go with --out DIR, where the figures are written")
    names = arguments.names
    for path in report_all(names) if arguments.out is None else figures_to(arguments.out, names, **look):
        print(path)
    return 0


def _claims(arguments: argparse.Namespace) -> int:
    from normexp.report.ledger import ledger

    print(ledger(arguments.names, plain=arguments.json), end="")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    from normexp.sweeps.status import overview

    print(overview(arguments.path), end="")
    return 0


def _plot(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import plot_command

    look = {"formats": arguments.format, "style": arguments.style, "width": arguments.width}
    for path in plot_command(_paths("plot", arguments), arguments.out, arguments.metric, **look):
        print(path)
    return 0


def _table(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import table_command

    by = arguments.by.split(",") if arguments.by else ()
    print(table_command(_paths("table", arguments), arguments.out, arguments.format, by), end="")
    return 0


def _best(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import best_command

    over = arguments.over.split(",") if arguments.over else ()
    print(best_command(_paths("best", arguments), over, arguments.metric, arguments.format), end="")
    return 0


def _paths(verb: str, arguments: argparse.Namespace) -> list[str]:
    if not arguments.paths:
        raise UserError(f"{verb}: no PATH given; give run directories or a folder of them (results/runs)")
    return list(arguments.paths)


def _list(arguments: argparse.Namespace) -> int:
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
        return _list_experiments()
    kinds = [arguments.what] if arguments.what else list(LISTS)
    for place, kind in enumerate(kinds):
        if len(kinds) > 1:
            print(("\n" if place else "") + kind)
        for name in options(LISTS[kind]):
            about = option(LISTS[kind], name)
            print(f"  {name:22} {about.get('_about_', '')}  [{about.get('_source_', '-')}]")
    return 0


def _list_experiments() -> int:
    from normexp.config.options import config_dir, load_yaml

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


def _check(arguments: argparse.Namespace) -> int:
    given = list(arguments.overrides)
    if not given:
        raise UserError("check: no scheme given; give norm=OPTION (normexp list norms shows all)")
    if other := [word for word in given if not word.startswith(("norm=", "norm.", "plugins="))]:
        raise UserError(
            f"check: {other[0]!r} is no part of a scheme; give norm=OPTION, norm.KEY=VALUE, plugins=[MODULE]"
        )
    from normexp.config import compose

    config = compose(given)
    from normexp.norms.checks.commands import check_command
    from normexp.training.build import build_norm

    norm = build_norm(config)
    scheme = config.choices["norm"]
    about = option("norm", scheme) if scheme in options("norm") else {}  # a scheme of the user's own says nothing
    exact = about.get("_gradient_") != "approximate"
    mixes = None if scheme == "stack" else about.get("_batch_statistics_")  # a stack's parts are anybody's
    flags = {"exact_gradient": exact, "mixes_examples": mixes, "full": arguments.full, "inductor": arguments.inductor}
    text, holds = check_command(norm, repr(norm), **flags)
    print(text)
    return 0 if holds else 1


def _bench(arguments: argparse.Namespace) -> int:
    from normexp.bench.command import bench

    return bench(arguments.words, arguments.quick, arguments.rounds, arguments.out)


def _archive(arguments: argparse.Namespace) -> int:
    from normexp.cli.record_verbs import archive

    return archive(arguments)


def _merge(arguments: argparse.Namespace) -> int:
    from normexp.cli.record_verbs import merge

    return merge(arguments)


def _verify(arguments: argparse.Namespace) -> int:
    from normexp.cli.record_verbs import verify

    return verify(arguments)


def _new(arguments: argparse.Namespace) -> int:
    from normexp.cli.experiment_verbs import new

    return new(arguments)


def _freeze(arguments: argparse.Namespace) -> int:
    from normexp.cli.experiment_verbs import freeze

    return freeze(arguments)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "sweep": _sweep,
    "reproduce": _reproduce,
    "report": _report,
    "claims": _claims,
    "status": _status,
    "plot": _plot,
    "table": _table,
    "best": _best,
    "list": _list,
    "check": _check,
    "bench": _bench,
    "archive": _archive,
    "merge": _merge,
    "verify": _verify,
    "new": _new,
    "freeze": _freeze,
}
