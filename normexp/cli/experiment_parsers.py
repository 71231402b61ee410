"""What `normexp reproduce`, `claims`, `laws`, `new` and `freeze` accept."""

from __future__ import annotations

from normexp.cli.parser import Parser, Verbs, add_names
from normexp.cli.sweep_parsers import add_grid_flags


def add_reproduce(verbs: Verbs[Parser]) -> None:
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
    command.add_argument(
        "--take", metavar="PATH", help="copy finished runs with the same settings from here, and do not train them"
    )
    add_grid_flags(command)


def add_claims(verbs: Verbs[Parser]) -> None:
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


def add_laws(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "laws",
        help="what theory predicts exactly, beside what was measured",
        description="Print one page: every law, its formula, what it predicts and what was measured where they are "
        "furthest apart, the verdict, the controls that have to leave the law, and the seconds that it took. "
        "`normexp reproduce --laws` measures them.",
    )
    add_names(command, "laws, results_dir=; default: every law under results")
    command.add_argument("--json", action="store_true", help="print the same as JSON")


def add_new(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "new",
        help="write a commented skeleton of an experiment",
        description="Write NAME.yaml, a commented experiment that runs as it is.",
    )
    command.add_argument("what", metavar="experiment")
    command.add_argument("name", metavar="NAME")
    command.add_argument("--like", metavar="EXPERIMENT", help="all that this one has, and an arm of your own")


def add_freeze(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "freeze",
        help="record what an experiment declares before its first run",
        description="Write frozen.json: claims, margin, published numbers, seeds, grid and search. `reproduce` does so "
        "before the first run; of a record that is there, what was changed since is printed.",
    )
    add_names(command, "experiments, scale=, results_dir=")
