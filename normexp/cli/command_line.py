"""What the command line accepts: one parser per verb, with help that names every group and option."""

from __future__ import annotations

import argparse
from functools import cache

from normexp import __version__
from normexp.cli.diagnose_parser import add_diagnose
from normexp.cli.experiment_parsers import add_claims, add_freeze, add_laws, add_new, add_reproduce
from normexp.cli.measure_parsers import add_bench, add_check
from normexp.cli.parser import Parser, Verbs
from normexp.cli.record_parsers import add_archive, add_diff, add_merge, add_sample, add_verify
from normexp.cli.report_parsers import add_best, add_plot, add_report, add_table
from normexp.cli.sweep_parsers import add_grid_flags, add_settings, add_status, add_sweep, add_worker
from normexp.config.options import groups, options

LISTS = {"norms": "norm", "models": "model", "datasets": "dataset", "inputs": "inputs", "optims": "optim"}
LISTS |= {"inits": "init", "schedules": "schedule", "probes": "probe", "studies": "study", "placements": "placement"}
KINDS = (*LISTS, "experiments")


@cache
def parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of `normexp --help` and the parser of each verb."""
    parser = Parser(
        prog="normexp",
        description="Train, compare and reproduce the normalization schemes of neural networks.",
        epilog="--debug, anywhere, shows the traceback of an error.",
    )
    parser.add_argument("--version", action="version", version=f"normexp {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for add in (
        _add_run,
        add_sweep,
        add_reproduce,
        add_report,
        add_claims,
        add_laws,
        add_status,
        add_plot,
        add_table,
        add_best,
        add_diff,
        _add_list,
        add_check,
        add_bench,
        add_archive,
        add_merge,
        add_verify,
        add_sample,
        add_new,
        add_freeze,
        add_worker,
        add_diagnose,
        _add_completion,
    ):
        add(verbs)
    return parser, dict(verbs.choices)


def flags(parser: Parser) -> list[str]:
    return sorted(flag for action in parser._actions for flag in action.option_strings)


def _add_run(verbs: Verbs[Parser]) -> None:
    about = "\n".join(f"  {group:9} {', '.join(options(group))}" for group in groups())
    command = verbs.add_parser(
        "run",
        help="train one configuration",
        description="Train one configuration and leave one run directory.",
        epilog=f"groups and their options:\n{about}\n\n`normexp run --cfg` prints every key with its value.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("overrides", nargs="*", metavar="GROUP=OPTION|KEY=VALUE")
    command.add_argument("--cfg", action="store_true", help="print the resolved configuration and stop")
    command.add_argument("--force", action="store_true", help="train again, over a finished run")
    command.add_argument("--quiet", action="store_true", help="print the run directory only")
    command.add_argument("--save", metavar="FILE", help="write the settings to a file for --config")
    command.add_argument("-m", "--multirun", action="store_true", help="train a grid, as `normexp sweep` does")
    add_settings(command)
    add_grid_flags(command)


def _add_list(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("list", help="list the options of every group")
    command.add_argument("what", nargs="?", metavar="|".join(KINDS), help="one kind only")
    command.add_argument("--schema", action="store_true", help="with experiments: their YAML as JSON schema")
    command.add_argument("--matrix", action="store_true", help="with norms: what each scheme can do, measured")
    command.add_argument("--json", action="store_true", help="print the same as JSON")


def _add_completion(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "completion",
        help="let a shell complete commands, options and keys",
        description="Print what lets a shell complete commands, groups, options, keys and experiments at a Tab.",
        epilog="source <(normexp completion bash)   in ~/.bashrc; the same with zsh in ~/.zshrc;\n"
        "normexp completion fish | source   in config.fish",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("shell", metavar="bash|zsh|fish")
