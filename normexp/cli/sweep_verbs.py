"""`normexp sweep`, `worker` and `status`: many runs, on one machine and on several."""

from __future__ import annotations

import argparse

from normexp.errors import UserError


def sweep(arguments: argparse.Namespace) -> int:
    from normexp.cli.run_verb import overrides
    from normexp.sweeps.sweep import sweep

    if not (arguments.overrides or arguments.config or arguments.like):
        raise UserError("sweep: no grid given; for example norm=none,batch 'seed=range(3)'")
    return sweep(overrides(arguments), arguments.jobs, dry_run=arguments.dry_run, force=arguments.force)


def worker(arguments: argparse.Namespace) -> int:
    """Train cells of a shared sweep until none is left."""
    from normexp.sweeps.serve import serve

    if arguments.sweep is None:
        raise UserError("worker: no SWEEP given; give the folder results/.sweeps/ID that `normexp sweep` prints")
    if arguments.threads < 1:
        raise UserError(f"worker: --threads {arguments.threads}: must be an integer in [1, inf)")
    return serve(arguments.sweep, arguments.threads)


def status(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        from pathlib import Path

        from normexp.sweeps.watch import watch

        return watch(Path(arguments.path))
    from normexp.sweeps.status import overview

    print(overview(arguments.path), end="")
    return 0
