"""The command line: verbs to functions. Imports nothing heavy at module level (no torch, pandas, matplotlib)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from normexp import __version__
from normexp.config.options import groups, option, options
from normexp.errors import Interrupted, UserError, nearest, unknown

LISTS = {"norms": "norm", "models": "model", "datasets": "dataset", "inputs": "inputs", "optims": "optim"}
LISTS |= {"inits": "init", "schedules": "schedule", "probes": "probe"}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with the nearest valid name."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0 done, 1 a run failed, 2 a mistake of the user, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        return _dispatch([word for word in given if word != "--debug"])
    except UserError as error:
        if debug:
            raise
        print(f"normexp: {error}", file=sys.stderr)
        return 2
    except Interrupted as stopped:
        print(f"normexp: {stopped}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("normexp: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `normexp list | head`
        sys.stdout = None  # nothing is left to flush at exit
        return 0
    except Exception as error:
        if debug:
            raise
        reason = (str(error).strip() or "no message").splitlines()[0]
        print(
            f"normexp: failed: {type(error).__name__}: {reason} (--debug shows the traceback)",
            file=sys.stderr,
        )
        return 1


def _dispatch(arguments: list[str]) -> int:
    parser, commands = _parser()
    if not arguments:
        raise UserError(f"no command; give one of {', '.join(VERBS)} (normexp --help says what they do)")
    verb, *rest = arguments
    if verb in _flags(parser):
        parser.parse_args([verb])  # prints and exits
    if verb.startswith("-"):
        raise unknown("option", verb, [*_flags(parser), "--debug"])
    if verb not in VERBS:
        hint = "; did you mean `normexp run ...`?" if "=" in verb else nearest(verb, VERBS)
        raise UserError(f"no command {verb!r}; allowed: {', '.join(VERBS)}{hint}")
    parsed, left = commands[verb].parse_known_intermixed_args(rest)  # flags may stand between overrides
    if left:
        wrong = next((word for word in left if word.startswith("-")), None)
        raise (
            unknown(f"{verb}: option", wrong, [*_flags(commands[verb]), "--debug"])
            if wrong
            else UserError(f"{verb}: {left[0]!r} is one argument too many")
        )
    return VERBS[verb](parsed)


def _parser() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of `normexp --help` and the parser of each verb."""
    parser = Parser(
        prog="normexp",
        description="Train, compare and reproduce the normalization schemes of neural networks.",
        epilog="--debug, anywhere, shows the traceback of an error.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"normexp {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for add in (
        _add_run,
        _add_sweep,
        _add_reproduce,
        _add_report,
        _add_claims,
        _add_status,
        _add_plot,
        _add_table,
        _add_list,
        _add_check,
    ):
        add(verbs)
    return parser, dict(verbs.choices)


def _flags(parser: Parser) -> list[str]:
    return sorted(flag for action in parser._actions for flag in action.option_strings)


Verbs = argparse._SubParsersAction  # what add_subparsers returns; argparse has no public name for it


def _add_run(verbs: Verbs[Parser]) -> None:
    about = "\n".join(f"  {group:9} {', '.join(options(group))}" for group in groups())
    command = verbs.add_parser(
        "run",
        help="train one configuration",
        description="Train one configuration and leave one run directory.",
        epilog=f"groups and their options:\n{about}\n\n`normexp run --cfg` prints every key with its value.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument("overrides", nargs="*", metavar="GROUP=OPTION|KEY=VALUE")
    command.add_argument("--cfg", action="store_true", help="print the resolved configuration and stop")
    command.add_argument("--force", action="store_true", help="train again, over a finished run")
    command.add_argument("--quiet", action="store_true", help="print the run directory only")
    command.add_argument("-m", "--multirun", action="store_true", help="train a grid, as `normexp sweep` does")
    _add_sweep_flags(command)


def _add_sweep(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "sweep",
        help="train a grid of configurations",
        description="Train every cell of a grid: norm=none,batch seed='range(5)'. Finished cells are skipped, "
        "interrupted ones continue; the same command again does what is missing. jobs=N runs N cells side by side.",
        allow_abbrev=False,
    )
    command.add_argument("overrides", nargs="*", metavar="GROUP=A,B|KEY='range(N)'")
    _add_sweep_flags(command)
    command.add_argument("--force", action="store_true", help="train finished cells again")


def _add_sweep_flags(command: Parser) -> None:
    command.add_argument("--jobs", type=int, metavar="N", help="cells side by side (the same as jobs=N)")
    command.add_argument("--dry-run", action="store_true", help="print the plan and stop")


def _add_reproduce(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "reproduce",
        help="train and render a published table or figure",
        description="Train what is missing of an experiment, set our numbers beside the printed ones, judge its "
        "claims. scale=smoke takes seconds and shows that it works, scale=cpu takes minutes, scale=paper is the "
        "published set-up.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="experiments, scale=, jobs=, results_dir=")
    command.add_argument("--all", action="store_true", help="every experiment")
    command.add_argument("--cell", metavar="ARM", help="one row of the table only")
    command.add_argument("--force", action="store_true", help="train finished runs again")
    _add_sweep_flags(command)


def _add_report(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "report",
        help="render experiments from their records",
        description="Regenerate tables, figures and verdicts from the records alone; nothing is trained.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="default: all that has records")


def _add_claims(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "claims",
        help="what the papers claim, and whether it holds here",
        description="Print the ledger of claims from the reports under results/, and write it to claims.md there.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="default: all that has a report")


def _add_status(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("status", help="count run directories by their state", allow_abbrev=False)
    command.add_argument("path", nargs="?", default="results", metavar="PATH", help="default: results")


def _add_plot(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "plot",
        help="draw curves of run directories",
        description="Draw curves (PNG and SVG).",
        allow_abbrev=False,
    )
    command.add_argument("paths", nargs="*", metavar="PATH", help="run directories, or folders that hold some")
    command.add_argument("--out", metavar="DIR", help="where to write; default: beside the runs")
    command.add_argument("--metric", metavar="NAME", help="a column of metrics.csv, for example test/accuracy")


def _add_table(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "table", help="tabulate run directories", description="Tabulate run directories.", allow_abbrev=False
    )
    command.add_argument("paths", nargs="*", metavar="PATH", help="run directories, or folders that hold some")
    command.add_argument("--format", default="md", metavar="FORMAT", help="md, csv, tex or html (default md)")
    command.add_argument("--out", metavar="DIR", help="write table.md, .csv, .tex and .html there as well")


def _add_list(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("list", help="show the options of every group", allow_abbrev=False)
    command.add_argument("what", nargs="?", metavar="|".join([*LISTS, "experiments"]), help="one kind only")
    command.add_argument("--matrix", action="store_true", help="with norms: what each scheme can do, measured")


def _add_check(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "check",
        help="test one scheme against the contract and measure it",
        description="Test one scheme against the contract and print its card: what its output does not depend on, "
        "where it works, what it holds and what it costs. Exit status 1 if the contract is broken.",
        epilog="your own: normexp check norm._target_=my_norms.MyNorm 'plugins=[my_norms]'",
        allow_abbrev=False,
    )
    command.add_argument("overrides", nargs="*", metavar="norm=OPTION|norm.KEY=VALUE")
    command.add_argument("--full", action="store_true", help="times on (128, 96, 32, 32), a minute")
    command.add_argument("--inductor", action="store_true", help="compile to machine code, not to a graph only")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.multirun:
        return _sweep(arguments)
    from normexp.config import compose

    config = compose(arguments.overrides)
    if arguments.cfg:
        print(config.to_yaml(), end="")
        return 0
    from normexp.progress import Progress, Silence
    from normexp.run import run

    directory = run(config, _say, force=arguments.force, display=Silence if arguments.quiet else Progress)
    if not arguments.quiet:
        from normexp.report.commands import compare

        print(compare(directory))
    print(directory.path)
    return 0


def _sweep(arguments: argparse.Namespace) -> int:
    from normexp.sweep import sweep

    return sweep(arguments.overrides, arguments.jobs, _say, dry_run=arguments.dry_run, force=arguments.force)


def _reproduce(arguments: argparse.Namespace) -> int:
    from normexp.ledger import reproduce_all

    return reproduce_all(
        arguments.names,
        _say,
        everything=arguments.all,
        arm=arguments.cell,
        jobs=arguments.jobs,
        dry_run=arguments.dry_run,
        force=arguments.force,
    )


def _report(arguments: argparse.Namespace) -> int:
    from normexp.ledger import report_all

    for path in report_all(arguments.names):
        print(path)
    return 0


def _claims(arguments: argparse.Namespace) -> int:
    from normexp.ledger import write_ledger

    print(write_ledger(arguments.names), end="")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    from normexp.status import overview

    print(overview(arguments.path), end="")
    return 0


def _plot(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import plot_command

    for path in plot_command(_paths("plot", arguments), arguments.out, arguments.metric):
        print(path)
    return 0


def _table(arguments: argparse.Namespace) -> int:
    from normexp.report.commands import table_command

    print(table_command(_paths("table", arguments), arguments.out, arguments.format), end="")
    return 0


def _paths(verb: str, arguments: argparse.Namespace) -> list[str]:
    if not arguments.paths:
        raise UserError(f"{verb}: no PATH given; give run directories or a folder of them (results/runs)")
    return list(arguments.paths)


def _list(arguments: argparse.Namespace) -> int:
    if arguments.what is not None and arguments.what not in (*LISTS, "experiments"):
        raise unknown("list:", arguments.what, [*LISTS, "experiments"])
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
    from normexp.build import build_norm
    from normexp.checks.commands import matrix_command
    from normexp.config import compose

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
    from normexp.build import build_norm
    from normexp.checks.commands import check_command

    norm = build_norm(config)
    own = "_target_" in str(given)
    exact = own or option("norm", config.choices["norm"]).get("_gradient_") != "approximate"
    flags = {"exact_gradient": exact, "full": arguments.full, "inductor": arguments.inductor}
    text, holds = check_command(norm, repr(norm), **flags)
    print(text)
    return 0 if holds else 1


def _say(line: str) -> None:
    print(f"normexp: {line}", file=sys.stderr)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "sweep": _sweep,
    "reproduce": _reproduce,
    "report": _report,
    "claims": _claims,
    "status": _status,
    "plot": _plot,
    "table": _table,
    "list": _list,
    "check": _check,
}
