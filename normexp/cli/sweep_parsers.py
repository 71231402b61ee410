"""What `normexp sweep`, `worker` and `status` accept, and the flags that other verbs have in common with a sweep."""

from __future__ import annotations

from normexp.cli.parser import Parser, Verbs, whole


def add_sweep(verbs: Verbs[Parser]) -> None:
    command = verbs.add_parser(
        "sweep",
        help="train a grid of configurations",
        description="Train every run of a grid: norm=none,batch seed='range(5)'. Finished runs are skipped, "
        "interrupted ones continue: re-run the command to resume. jobs=N trains N runs side by side; "
        "stack=true trains small networks that differ in seed and optim.lr alone together. sampler=tpe trials=N draws "
        "the values of keys with an interval.",
    )
    command.add_argument("overrides", nargs="*", metavar="GROUP=A,B|KEY='range(N)'")
    add_settings(command)
    add_grid_flags(command)
    command.add_argument("--force", action="store_true", help="train finished runs again")


def add_settings(command: Parser) -> None:
    """Add where settings come from, of one run and of a grid."""
    command.add_argument("--config", metavar="FILE", help="settings from a YAML file; what is typed beside it wins")
    command.add_argument("--like", metavar="RUN", help="the settings of a run that is recorded; what is typed wins")


def add_grid_flags(command: Parser) -> None:
    """Add how many runs are trained side by side, or whether any is."""
    command.add_argument("--jobs", type=whole, metavar="N", help="runs side by side (the same as jobs=N)")
    command.add_argument("--dry-run", action="store_true", help="print the plan and stop")


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
