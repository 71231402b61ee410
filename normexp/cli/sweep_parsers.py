"""What `normexp worker` and `status` accept."""

from __future__ import annotations

from normexp.cli.parser import Parser, Verbs, whole


def add_worker(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "worker",
        help="train runs of a shared sweep until none is left",
        description="Claim and train one run after the other of a sweep that was planned with executor=..., from any "
        "machine that sees its folder (results/.sweeps/ID; `normexp sweep` prints it). Ctrl-C and SIGTERM save the run "
        "and leave it to others.",
    )
    command.add_argument("sweep", nargs="?", metavar="SWEEP", help="the folder results/.sweeps/ID")
    command.add_argument("--threads", type=whole, default=1, metavar="N", help="CPU threads (default 1)")


def add_status(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser("status", help="count run directories by their state")
    command.add_argument("path", nargs="?", default="results", metavar="PATH", help="default: results")
    command.add_argument("--watch", action="store_true", help="follow the sweeps and runs there until they have ended")
    command.add_argument("--json", action="store_true", help="print the same as JSON")
