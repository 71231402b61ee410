"""`normexp sweep`, `worker` and `status`: many runs, on one machine and on several."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from normexp.cli.composed import overrides
from normexp.cli.streams import print_answer
from normexp.config.allowed import check_count
from normexp.errors import UserError

if TYPE_CHECKING:
    from normexp.sweeps.plan import Plan

logger = logging.getLogger("normexp")


def sweep(arguments: argparse.Namespace) -> int:
    from normexp.sweeps.pool import stops_between_runs
    from normexp.sweeps.sweep import sweep

    if not (arguments.overrides or arguments.config or arguments.like):
        raise UserError("sweep: no grid given; for example norm=none,batch 'seed=range(3)'")
    options = {"dry_run": arguments.dry_run, "force": arguments.force, "closing": _closing}
    with stops_between_runs():
        return sweep(overrides(arguments), arguments.jobs, **options)


def _closing(plan: Plan) -> None:
    """Print the table of a sweep, and what to type next."""
    from normexp.report.commands.closing import after_sweep

    text, commands = after_sweep({cell.path: plan.name(cell) for cell in plan.cells}, plan.results)
    if text:
        print(text)
    for command in commands:
        logger.info(f"next: {command}")


def worker(arguments: argparse.Namespace) -> int:
    """Train cells of a shared sweep until none is left."""
    from normexp.sweeps.serve import serve

    if arguments.sweep is None:
        raise UserError("worker: no SWEEP given; give the folder results/.sweeps/ID that `normexp sweep` prints")
    check_count("worker: --threads", arguments.threads)
    return serve(arguments.sweep, arguments.threads)


def status(arguments: argparse.Namespace) -> int:
    if arguments.watch and arguments.json:
        raise UserError("status: --json is of one look, --watch of many; give one of the two")
    from pathlib import Path

    from normexp.records import plain_json
    from normexp.sweeps.shared import is_shared_sweep
    from normexp.sweeps.status import overview, summary

    path = Path(arguments.path)
    if arguments.watch:
        from normexp.sweeps.watch import watch

        return watch(path)
    if arguments.json:
        shown = plain_json(summary(path))
    elif is_shared_sweep(path):
        from normexp.sweeps.watch import once

        shown = once(path)
    else:
        shown = overview(path)
    print_answer(shown, arguments.json)
    return 0
