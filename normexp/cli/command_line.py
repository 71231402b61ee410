"""What the command line accepts: one parser per verb, with help that names every group and option."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

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
    for verb in VERBS.values():
        verb.add(verbs)
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


class Verb(NamedTuple):
    """A command: what adds its parser, and the MODULE.FUNCTION that does what it says."""

    add: Callable[[Verbs[Parser]], None]
    function: str

    def call(self, arguments: argparse.Namespace) -> int:
        """Return the exit status. The module is imported here, so that nobody waits for those of other verbs."""
        module, _, name = self.function.partition(".")
        return int(getattr(import_module(f"normexp.cli.{module}"), name)(arguments))


VERBS = {
    "run": Verb(_add_run, "run_verb.run"),
    "sweep": Verb(add_sweep, "sweep_verbs.sweep"),
    "reproduce": Verb(add_reproduce, "experiment_verbs.reproduce"),
    "report": Verb(add_report, "report_verbs.report"),
    "claims": Verb(add_claims, "experiment_verbs.claims"),
    "laws": Verb(add_laws, "experiment_verbs.laws"),
    "status": Verb(add_status, "sweep_verbs.status"),
    "plot": Verb(add_plot, "report_verbs.plot"),
    "table": Verb(add_table, "report_verbs.table"),
    "best": Verb(add_best, "report_verbs.best"),
    "diff": Verb(add_diff, "record_verbs.diff"),
    "list": Verb(_add_list, "list_verb.show"),
    "check": Verb(add_check, "measure_verbs.check"),
    "bench": Verb(add_bench, "measure_verbs.bench"),
    "archive": Verb(add_archive, "record_verbs.archive"),
    "merge": Verb(add_merge, "record_verbs.merge"),
    "verify": Verb(add_verify, "record_verbs.verify"),
    "sample": Verb(add_sample, "record_verbs.sample"),
    "new": Verb(add_new, "experiment_verbs.new"),
    "freeze": Verb(add_freeze, "experiment_verbs.freeze"),
    "worker": Verb(add_worker, "sweep_verbs.worker"),
    "diagnose": Verb(add_diagnose, "diagnose_verb.diagnose"),
    "completion": Verb(_add_completion, "completion_verb.completion"),
}
