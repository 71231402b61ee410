"""What the command line accepts: one parser per verb, with help that names every group and option."""

from __future__ import annotations

import argparse
from typing import NoReturn

from normexp import __version__
from normexp.config.options import groups, options
from normexp.errors import UserError

SUITES = ("steps", "layers", "recurrent", "start", "sweep", "memory", "growth")
LISTS = {"norms": "norm", "models": "model", "datasets": "dataset", "inputs": "inputs", "optims": "optim"}
LISTS |= {"inits": "init", "schedules": "schedule", "probes": "probe", "studies": "study"}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with the nearest valid name."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def parsers() -> tuple[Parser, dict[str, Parser]]:
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
        _add_best,
        _add_list,
        _add_check,
        _add_bench,
        _add_archive,
        _add_merge,
        _add_verify,
        _add_new,
        _add_freeze,
    ):
        add(verbs)
    return parser, dict(verbs.choices)


def flags(parser: Parser) -> list[str]:
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
        "claims. scale=smoke takes seconds and shows that it works, scale=cpu takes minutes, scale=desk hours, "
        "and scale=paper is a published set-up.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="experiments, scale=, jobs=, results_dir=")
    command.add_argument("--all", action="store_true", help="every experiment")
    command.add_argument("--cell", metavar="ARM", help="one row of the table only")
    command.add_argument("--power", action="store_true", help="run nothing; say how many seeds would decide each claim")
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
    command.add_argument("--out", metavar="DIR", help="write the figures alone, there: for a paper or a talk")
    _add_look(command)


def _add_claims(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "claims",
        help="what the papers claim, and whether it holds here",
        description="Print the ledger of claims from the reports under results/, and write it to claims.md there.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="default: all that has a report")
    command.add_argument("--json", action="store_true", help="print counts and claims as JSON")


def _add_status(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("status", help="count run directories by their state", allow_abbrev=False)
    command.add_argument("path", nargs="?", default="results", metavar="PATH", help="default: results")


def _add_plot(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "plot",
        help="draw curves of run directories",
        description="Draw curves, with their caption in a .md file. KEY=VALUE,... keeps the runs with one of these "
        "values: normexp plot results/runs norm=batch,layer",
        allow_abbrev=False,
    )
    command.add_argument("paths", nargs="*", metavar="PATH|KEY=VALUE,...", help="run directories, folders; filters")
    command.add_argument("--out", metavar="DIR", help="where to write; default: beside the runs")
    command.add_argument("--metric", metavar="NAME", help="a column of metrics.csv, for example test/accuracy")
    _add_look(command)


def _add_look(command: Parser) -> None:
    command.add_argument(
        "--format", action="append", default=[], metavar="FORMAT", help="png, svg or pdf; default: png and svg"
    )
    command.add_argument("--style", default="page", metavar="STYLE", help="page, paper or slide (default page)")
    command.add_argument("--width", metavar="WIDTH", help="of the figure: 3.3in, 84mm; default: that of the style")


def _add_table(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "table",
        help="tabulate run directories",
        description="Tabulate run directories: one row per arm, named by the keys that vary. KEY=VALUE,... keeps the "
        "runs with one of these values: normexp table results/runs norm=batch,layer",
        allow_abbrev=False,
    )
    command.add_argument("paths", nargs="*", metavar="PATH|KEY=VALUE,...", help="run directories, folders; filters")
    command.add_argument("--by", metavar="KEY,...", help="one row per value of these keys, instead of one per arm")
    command.add_argument("--format", default="md", metavar="FORMAT", help="md, csv, tex or html (default md)")
    command.add_argument("--out", metavar="DIR", help="write table.md, .csv, .tex and .html there as well")


def _add_best(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "best",
        help="find the best value of every swept hyperparameter",
        description="Print the best value of every swept hyperparameter per arm, by the validation split, with its "
        "spread, the next best, and a warning where it lies at the edge of its grid.",
        allow_abbrev=False,
    )
    command.add_argument("paths", nargs="*", metavar="PATH|KEY=VALUE,...", help="run directories, folders; filters")
    command.add_argument("--over", metavar="KEY,...", help="the hyperparameters (default: all that vary)")
    command.add_argument("--metric", metavar="NAME", help="choose by this column of metrics.csv instead")
    command.add_argument("--format", default="md", metavar="FORMAT", help="md, csv, tex or html (default md)")


def _add_list(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("list", help="show the options of every group", allow_abbrev=False)
    command.add_argument("what", nargs="?", metavar="|".join([*LISTS, "experiments"]), help="one kind only")
    command.add_argument("--schema", action="store_true", help="with experiments: their YAML as JSON schema")
    command.add_argument("--matrix", action="store_true", help="with norms: what each scheme can do, measured")


def _add_new(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "new",
        help="write the commented beginning of an experiment",
        description="Write NAME.yaml, an experiment that can be run as it is and tells what to fill in.",
        allow_abbrev=False,
    )
    command.add_argument("what", metavar="experiment")
    command.add_argument("name", metavar="NAME")


def _add_freeze(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "freeze",
        help="record what an experiment declares before its first run",
        description="Write frozen.json: claims, margin, published numbers, seeds, grid and search. `reproduce` does so "
        "before the first run; of a record that is there, what was changed since is printed.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="experiments, scale=, results_dir=")


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


def _add_bench(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "bench",
        help="measure how fast the program is",
        description="Measure, in ratios of one run, how fast the program is beside what people would write instead. "
        "Nothing else should run on the machine meanwhile. Exit status 1 if loss curves differ, never for a time.",
        allow_abbrev=False,
    )
    command.add_argument("words", nargs="*", metavar="SUITE|KEY=VALUE", help=f"{', '.join(SUITES)} (default steps)")
    command.add_argument("--quick", action="store_true", help="small works and few turns: shows that it works")
    command.add_argument("--rounds", type=int, default=7, metavar="N", help="turns of each side (default 7)")
    command.add_argument("--out", metavar="DIR", help="write every table there, as Markdown and JSON")


def _add_archive(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "archive",
        help="pack the run directories of an experiment into one file",
        description="Pack the finished run directories of experiments into results/NAME/SCALE/records.zip, which every "
        "command reads like the folder. Runs that were trained again are packed over the old ones. Weights and "
        "unfinished runs stay where they are.",
        allow_abbrev=False,
    )
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help="default: all that has records")


def _add_merge(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "merge",
        help="join the records of two machines",
        description="Bring the run directories of two folders or archives together. Runs that are in both must say the "
        "same; otherwise nothing is written, and they are named.",
        allow_abbrev=False,
    )
    command.add_argument("first", metavar="A", help="a folder of run directories, or an archive")
    command.add_argument("second", metavar="B", help="another one with the same layout")
    command.add_argument("--into", metavar="C", help="where to; default: A")


def _add_verify(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "verify",
        help="check every record, or that a killed run ends in the same bits",
        description="records [PATH]: every record's checksums, form, completeness and age. resume [OVERRIDES]: train, "
        "kill at random instants, continue and compare every bit; then without the random states, which must end "
        "otherwise. Exit status 1, and a line for each, if something is not as it should be.",
        allow_abbrev=False,
    )
    command.add_argument("what", metavar="records|resume")
    command.add_argument("words", nargs="*", metavar="PATH|OVERRIDE")
    command.add_argument("--kills", type=int, default=5, metavar="N", help="resume: how often to kill (default 5)")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="resume: of the instants (default 0)")
