"""What `normexp diff`, `archive`, `merge`, `verify` and `sample` accept."""

from __future__ import annotations

from normexp.cli.parser import Parser, Verbs, add_names, number, whole


def add_diff(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "diff",
        help="show how two runs differ",
        description="Print how two runs differ: configuration, environment, data, and the step from which their "
        "curves part.",
    )
    command.add_argument("first", metavar="RUN_A", help="a run directory")
    command.add_argument("second", metavar="RUN_B", help="another one")


def add_archive(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "archive",
        help="pack the run directories of an experiment into one file",
        description="Pack the finished run directories of experiments into results/NAME/SCALE/records.zip, which every "
        "command reads like the folder. Runs that were trained again are packed over the old ones. Weights and "
        "unfinished runs stay where they are.",
    )
    add_names(command, "default: all that has records")


def add_merge(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "merge",
        help="join the records of two machines",
        description="Bring the run directories of two folders or archives together. Runs that are in both must say the "
        "same; otherwise nothing is written, and they are named.",
    )
    command.add_argument("first", metavar="A", help="a folder of run directories, or an archive")
    command.add_argument("second", metavar="B", help="another one with the same layout")
    command.add_argument("--into", metavar="C", help="where to; default: A")


def add_verify(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "verify",
        help="check records, bit-exact resuming, and that recorded runs repeat",
        description="records [PATH]: every record's checksums, form, completeness and age. resume [OVERRIDES]: train, "
        "kill at random instants, continue and compare every bit; then without the random states, which must end "
        "otherwise. drift [EXPERIMENT...]: train a few recorded runs again, by default the cheapest of each, and say "
        "equal bytes, within tolerance or moved, and which library or processor differs. "
        "Exit status 1, and a line for each, if something is not as it should be.",
    )
    command.add_argument("what", metavar="records|resume|drift")
    command.add_argument("words", nargs="*", default=[], metavar="PATH|OVERRIDE|EXPERIMENT")
    command.add_argument("--kills", type=whole, metavar="N", help="resume: how often to kill (default 5)")
    command.add_argument("--limit", type=whole, metavar="N", help="drift: how many runs (default: one each, of all 3)")
    command.add_argument(
        "--seed", type=whole, metavar="S", help="resume: of the instants (default 0); drift: draws among all runs"
    )
    command.add_argument("--csv", metavar="FILE", help="drift: put a row per experiment into a table")


def add_sample(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "sample",
        help="print text that a trained network generates",
        description="Generate text with the network of a run with dataset=text, the same every time.",
    )
    command.add_argument("path", metavar="PATH", help="a run directory")
    command.add_argument("words", nargs="*", default=[], metavar="plugins=[MODULE]", help="modules of your own in it")
    command.add_argument("--file", metavar="PATH", help="the text that was learned, where it is a file of your own")
    command.add_argument("--prompt", metavar="TEXT", help="how the texts begin (default: new line)")
    command.add_argument("--length", type=whole, default=300, metavar="N", help="characters a text (default 300)")
    command.add_argument("--texts", type=whole, default=1, metavar="N", help="number of texts (default 1)")
    command.add_argument("--temperature", type=number, default=1.0, metavar="T", help="softmax temperature (default 1)")
