"""What the command line accepts: one parser per verb, with help that names every group and option."""

from __future__ import annotations

import argparse
from functools import cache

from normexp import __version__
from normexp.bench.suites import ABOUT
from normexp.cli.diagnose_parser import add_diagnose
from normexp.cli.parser import Parser, Verbs, add_names, whole
from normexp.cli.record_parsers import add_archive, add_merge, add_sample, add_verify
from normexp.cli.report_parsers import add_best, add_plot, add_report, add_table
from normexp.cli.sweep_parsers import add_grid_flags, add_settings, add_status, add_sweep, add_worker
from normexp.config.options import groups, options

SUITES = tuple(ABOUT)
LISTS = {"norms": "norm", "models": "model", "datasets": "dataset", "inputs": "inputs", "optims": "optim"}
LISTS |= {"inits": "init", "schedules": "schedule", "probes": "probe", "studies": "study", "placements": "placement"}


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
        _add_reproduce,
        add_report,
        _add_claims,
        _add_laws,
        add_status,
        add_plot,
        add_table,
        add_best,
        _add_diff,
        _add_list,
        _add_check,
        _add_bench,
        add_archive,
        add_merge,
        add_verify,
        add_sample,
        _add_new,
        _add_freeze,
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


def _add_diff(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "diff",
        help="show how two runs differ",
        description="Print how two runs differ: configuration, environment, data, and the step from which their "
        "curves part.",
    )
    command.add_argument("first", metavar="RUN_A", help="a run directory")
    command.add_argument("second", metavar="RUN_B", help="another one")


def _add_reproduce(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "reproduce",
        help="reproduce a published table or figure",
        description="Train what is missing of an experiment, compare our numbers with the published ones, judge "
        "its claims. scale=smoke takes seconds and shows that it works, scale=cpu takes minutes, scale=desk hours, "
        "and scale=paper is a published set-up.",
    )
    add_names(command, "experiments, scale=, jobs=, results_dir=")
    command.add_argument("--all", action="store_true", help="every experiment")
    command.add_argument("--laws", action="store_true", help="every experiment that tests a law, at full scale")
    command.add_argument("--cell", metavar="ARM", help="one row of the table only")
    command.add_argument("--power", action="store_true", help="run nothing; say how many seeds would decide each claim")
    command.add_argument("--force", action="store_true", help="train finished runs again")
    add_grid_flags(command)


def _add_claims(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "claims",
        help="what the papers claim, and whether it holds here",
        description="Print the ledger of claims from the reports under results/. That of everything, where nothing is "
        "named and no KEY= but results_dir= given, is also written to claims.md there.",
    )
    add_names(
        command,
        "experiments, scale=, verdict=, find=WORDS that stand in a claim, its source or its experiment, results_dir=; "
        "default: all that has a report",
    )
    command.add_argument("--json", action="store_true", help="print counts and claims as JSON")


def _add_laws(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "laws",
        help="what theory predicts exactly, beside what was measured",
        description="Print one page: every law, its formula, what it predicts and what was measured where they are "
        "furthest apart, the verdict, the controls that have to leave the law, and the seconds that it took. "
        "`normexp reproduce --laws` measures them.",
    )
    add_names(command, "laws, results_dir=; default: every law under results")
    command.add_argument("--json", action="store_true", help="print the same as JSON")


def _add_list(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("list", help="list the options of every group")
    command.add_argument("what", nargs="?", metavar="|".join([*LISTS, "experiments"]), help="one kind only")
    command.add_argument("--schema", action="store_true", help="with experiments: their YAML as JSON schema")
    command.add_argument("--matrix", action="store_true", help="with norms: what each scheme can do, measured")
    command.add_argument("--json", action="store_true", help="print the same as JSON")


def _add_new(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "new",
        help="write a commented skeleton of an experiment",
        description="Write NAME.yaml, a commented experiment that runs as it is.",
    )
    command.add_argument("what", metavar="experiment")
    command.add_argument("name", metavar="NAME")


def _add_freeze(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "freeze",
        help="record what an experiment declares before its first run",
        description="Write frozen.json: claims, margin, published numbers, seeds, grid and search. `reproduce` does so "
        "before the first run; of a record that is there, what was changed since is printed.",
    )
    add_names(command, "experiments, scale=, results_dir=")


def _add_check(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "check",
        help="test one scheme and measure it",
        description="Test one scheme against the test suite of all schemes and print its report card: its invariances, "
        "where it works, its buffers and parameters, and its cost. Exit status 1 if a test fails.",
        epilog="your own: normexp check norm._target_=my_norms.MyNorm 'plugins=[my_norms]'",
    )
    command.add_argument("overrides", nargs="*", metavar="norm=OPTION|norm.KEY=VALUE")
    command.add_argument("--full", action="store_true", help="measure times on (128, 96, 32, 32); takes a minute")
    command.add_argument("--inductor", action="store_true", help="compile to machine code, not to a graph only")


def _add_bench(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "bench",
        help="measure how fast the program is",
        description="Measure, in ratios of one run, how fast the program is next to common alternatives. "
        "Nothing else should run on the machine meanwhile. Exit status 1 if loss curves differ, never for a time.",
    )
    command.add_argument("words", nargs="*", metavar="SUITE|KEY=VALUE", help=f"{', '.join(SUITES)} (default steps)")
    command.add_argument("--quick", action="store_true", help="small workloads and few rounds: shows that it works")
    command.add_argument("--rounds", type=whole, metavar="N", help="rounds per side (default 7; 3 of growth and sweep)")
    command.add_argument("--out", metavar="DIR", help="write every table there, as Markdown and JSON")


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
