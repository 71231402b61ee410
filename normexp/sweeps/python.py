"""A sweep from Python."""

from __future__ import annotations

from collections.abc import Sequence

from normexp.config.overrides import check_truth, listed_overrides, typed_overrides
from normexp.records import RunDirectory
from normexp.sweeps.plan import Plan
from normexp.sweeps.sweep import sweep as train


def sweep(
    overrides: Sequence[str], *, jobs: int | None = None, force: bool = False, stack: bool | str = False
) -> list[RunDirectory]:
    """Train every cell of a grid, as `normexp sweep` does, and return all run directories of the grid.

    Finished cells are skipped, interrupted ones continue. A cell that fails stops no other: its status says
    `failed`. What the command line prints goes to the logger `normexp`.

    Args:
        overrides: as typed at the command line: ["norm=none,batch", "seed=range(3)"].
        jobs: cells side by side; by default as many as suit the machine.
        force: train finished cells again.
        stack: train cells that differ in seed and rate alone as one program, as `stack=true` does; "auto" trains
            alone what cannot be stacked. `jobs=N` and `stack=WORD` among the overrides do the same.

    Raises: UserError for a grid that cannot work, before anything is started; Interrupted after Ctrl-C or SIGTERM, and
        Submitted where `executor=` leaves the cells to workers elsewhere: the same call continues, or attaches.
    """
    stacked = [] if stack is False else [f"stack={stack}"]
    words = typed_overrides([*listed_overrides(overrides), *stacked])
    check_truth("force", force)
    plans: list[Plan] = []
    train(words, jobs, force=force, closing=plans.append)
    return [RunDirectory(cell.path) for plan in plans for cell in plan.cells]
