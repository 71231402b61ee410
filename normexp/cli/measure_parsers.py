"""What `normexp check` and `bench` accept."""

from __future__ import annotations

from normexp.bench.suites import ABOUT
from normexp.cli.parser import Parser, Verbs, whole

SUITES = tuple(ABOUT)


def add_check(verbs: Verbs[Parser]) -> None:
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


def add_bench(verbs: Verbs[Parser]) -> None:
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
