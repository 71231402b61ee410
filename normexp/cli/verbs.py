"""The command line: verbs to functions. Imports nothing heavy at module level (no torch, pandas, matplotlib)."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

from normexp.cli.hydra_habits import as_typed_here
from normexp.cli.log import logger, logging_to_stderr
from normexp.cli.parsers import flags, parsers
from normexp.config.options import key_called, option, options
from normexp.config.text import shortened
from normexp.errors import Interrupted, Submitted, UserError, did_you_mean, nearest, unknown
from normexp.training.cores import wait_briefly

_UNREADABLE = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)  # of a path, not of ours


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0 done, 1 a run failed, 2 a mistake of the user, 130 interrupted."""
    with logging_to_stderr():
        return _main(list(sys.argv[1:] if arguments is None else arguments))


def _main(given: list[str]) -> int:
    debug = "--debug" in given
    wait_briefly()
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
    except Submitted as elsewhere:
        logger.info(str(elsewhere))
        return 0
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
        if isinstance(error, OSError) and error.errno in _UNREADABLE and error.filename:
            logger.error(f"{error.filename}: {error.strerror}")
            return 2
        reason = (str(error).strip() or "no message").splitlines()[0]
        logger.error(f"failed: {type(error).__name__}: {reason} (--debug shows the traceback)")
        return 1


def _at_home(word: str) -> str:
    """Expand the ~ of KEY=~/PATH, which a shell leaves as it is. Raises UserError for a user that there is not."""
    key, equals, value = word.partition("=")
    if not equals or not value.startswith("~"):
        return word
    if (path := os.path.expanduser(value)).startswith("~"):
        raise UserError(f"{word}: there is no user {value.partition('/')[0][1:]!r} here")
    return f"{key}={path}"


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
        hint = "; did you mean `normexp run ...`?" if "=" in verb else did_you_mean(nearest(verb, [*VERBS, "--help"]))
        raise UserError(f"no command {verb!r}; allowed: {', '.join(VERBS)}{hint}")
    if verb in ("run", "sweep"):
        rest = as_typed_here(rest)
    parsed, left = commands[verb].parse_known_intermixed_args(rest)  # flags may stand between overrides
    if left:
        raise _left_over(verb, left, [*flags(commands[verb]), "--debug"])
    return VERBS[verb](parsed)


def _left_over(verb: str, left: Sequence[str], allowed: Sequence[str]) -> UserError:
    """Say what is wrong with words that a verb has no use for. A key has no dashes: `--epochs 5` is `epochs=5`."""
    wrong = next((word for word in left if word.startswith("-")), None)
    if wrong is None:
        return UserError(f"{verb}: {shortened(left[0])!r} is one argument too many")
    name, _, value = wrong.lstrip("-").partition("=")
    if verb in ("run", "sweep") and (key := key_called(name)):
        return UserError(f"{verb}: option {shortened(wrong)!r} does not exist; did you mean {key}={value or 'VALUE'}?")
    return unknown(f"{verb}: option", wrong, allowed)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.multirun:
        return _sweep(arguments)
    if arguments.dry_run or arguments.jobs is not None:
        raise UserError(f"run: {'--dry-run' if arguments.dry_run else '--jobs'} is of a grid; use `normexp sweep`")
    from normexp.cli.run_verb import run

    return run(arguments)


def _diff(arguments: argparse.Namespace) -> int:
    from normexp.cli.run_verb import diff

    return diff(arguments)


def _sweep(arguments: argparse.Namespace) -> int:
    from normexp.cli.sweep_verbs import sweep

    return sweep(arguments)


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
        of_laws=arguments.laws,
    )


def _report(arguments: argparse.Namespace) -> int:
    from normexp.cli.report_verb import report

    return report(arguments)


def _claims(arguments: argparse.Namespace) -> int:
    from normexp.report.ledger import ledger

    print(ledger(arguments.names, plain=arguments.json), end="")
    return 0


def _laws(arguments: argparse.Namespace) -> int:
    from normexp.report.ledger import laws_page

    print(laws_page(arguments.names, plain=arguments.json), end="")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    from normexp.cli.sweep_verbs import status

    return status(arguments)


def _plot(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import plot_command

    options = {"formats": arguments.format, "style": arguments.style, "width": arguments.width}
    options |= {"by": _keys(arguments.by), "last": arguments.last_sweep}
    for path in plot_command(_paths("plot", arguments), arguments.out, arguments.metric, **options):
        print(path)
    return 0


def _table(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import table_command

    options = {"by": _keys(arguments.by), "last": arguments.last_sweep}
    format = "json" if arguments.json else arguments.format
    print(table_command(_paths("table", arguments), arguments.out, format, **options), end="")
    return 0


def _best(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import best_command

    options = {"last": arguments.last_sweep, "out": arguments.out}
    over = _keys(arguments.over)
    text, figure = best_command(_paths("best", arguments), over, arguments.metric, arguments.format, **options)
    print(text, end="")
    for path in figure:
        logger.info(str(path))
    return 0


def _keys(given: str | None) -> list[str]:
    return given.split(",") if given else []


def _paths(verb: str, arguments: argparse.Namespace) -> list[str]:
    if "" in arguments.paths or not (arguments.paths or arguments.last_sweep):
        raise UserError(f"{verb}: no PATH given; give run directories or a folder of them (results/runs)")
    return list(arguments.paths)


def _list(arguments: argparse.Namespace) -> int:
    from normexp.cli.list_verb import show

    return show(arguments)


def _check(arguments: argparse.Namespace) -> int:
    given = list(arguments.overrides)
    if other := [word for word in given if not word.startswith(("norm=", "norm.", "plugins="))]:
        raise UserError(
            f"check: {other[0]!r} is no part of a scheme; give norm=OPTION, norm.KEY=VALUE, plugins=[MODULE]"
        )
    if not any(word.startswith("norm") for word in given):
        raise UserError("check: no scheme given; give norm=OPTION (normexp list norms shows all)")
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


def _sample(arguments: argparse.Namespace) -> int:
    from normexp.cli.record_verbs import sample

    return sample(arguments)


def _new(arguments: argparse.Namespace) -> int:
    from normexp.cli.experiment_verbs import new

    return new(arguments)


def _freeze(arguments: argparse.Namespace) -> int:
    from normexp.cli.experiment_verbs import freeze

    return freeze(arguments)


def _worker(arguments: argparse.Namespace) -> int:
    from normexp.cli.sweep_verbs import worker

    return worker(arguments)


def _diagnose(arguments: argparse.Namespace) -> int:
    from normexp.cli.diagnose_verb import diagnose

    return diagnose(arguments)


def _completion(arguments: argparse.Namespace) -> int:
    from normexp.cli.completion_verb import completion

    return completion(arguments)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "sweep": _sweep,
    "reproduce": _reproduce,
    "report": _report,
    "claims": _claims,
    "laws": _laws,
    "status": _status,
    "plot": _plot,
    "table": _table,
    "best": _best,
    "diff": _diff,
    "list": _list,
    "check": _check,
    "bench": _bench,
    "archive": _archive,
    "merge": _merge,
    "verify": _verify,
    "sample": _sample,
    "new": _new,
    "freeze": _freeze,
    "worker": _worker,
    "diagnose": _diagnose,
    "completion": _completion,
}
