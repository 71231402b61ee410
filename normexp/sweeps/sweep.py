"""A grid of configurations: train what is missing of it, say what failed. The same command continues it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from normexp.config.overrides import take_out, whole_number
from normexp.config.recipe import with_names
from normexp.config.text import amount
from normexp.errors import UserError
from normexp.records import FINISHED, TRACEBACK
from normexp.sweeps.beforehand import check_parts
from normexp.sweeps.executors.settings import take_executor
from normexp.sweeps.history import Search
from normexp.sweeps.last import remembered
from normexp.sweeps.plan import Cell, Plan, make_plan
from normexp.sweeps.pool import Pool, Worker
from normexp.sweeps.prefetch import prefetch, to_download
from normexp.sweeps.progress import sweep_progress
from normexp.sweeps.sampler import search_through, take_search
from normexp.sweeps.shard import WHOLE, take_shard
from normexp.sweeps.stacks import Job, check_stacks, stacks, take_stack
from normexp.sweeps.submit import NOBODY, Sharing, kept_workers, run_shared
from normexp.sweeps.time_needed import time_needed
from normexp.sweeps.workers import worker_pool

logger = logging.getLogger("normexp")
MOST_FAILURES = 3  # with one cause that are named one by one


def sweep(
    overrides: Sequence[str],
    jobs: int | None,
    dry_run: bool = False,
    force: bool = False,
    closing: Callable[[Plan], None] | None = None,
) -> int:
    """Train every cell of a grid; return the exit status: 0, or 1 if a cell failed.

    Args:
        closing: is called with the plan when all cells have ended.

    Raises: UserError for a grid that cannot work, Interrupted after Ctrl-C or SIGTERM.
    """
    shard, overrides = take_shard(overrides)
    sharing, overrides = take_sharing(overrides, jobs, force)
    search, overrides = take_search(overrides)
    if search is not None:
        if sharing.settings is not None or shard != WHOLE or force:
            raise UserError(f"sampler={search.sampler}: trains on this machine, without executor=, shard= and --force")
        return _search(search, overrides, dry_run, sharing, closing)
    plan = make_plan(overrides, force, shard)
    with kept_workers(sharing) as kept:
        prepare(plan, dry_run, force, kept)
        with nullcontext() if dry_run else remembered(plan):
            status = run_plan(plan, dry_run, force, kept)
    if closing and not dry_run:
        closing(plan)
    return status


def _search(
    search: Search,
    overrides: Sequence[str],
    dry_run: bool,
    sharing: Sharing,
    closing: Callable[[Plan], None] | None,
) -> int:
    """Train trial after trial; return the exit status."""
    with kept_workers(sharing) as kept, ExitStack() as held:

        def train(trial: Plan, whole: Plan) -> int:
            prepare(trial, dry_run, False, kept)
            if not dry_run:
                with held.pop_all():  # until this trial is remembered: between two of them the sweep is at work, too
                    held.enter_context(remembered(whole))
            return run_plan(trial, dry_run, False, kept)

        def check(ends: Plan) -> None:
            prepare(ends, dry_run, False, kept)

        status, plan = search_through(search, overrides, check, train, dry_run)
    if closing and not dry_run:
        closing(plan)
    return status


def prepare(plan: Plan, dry_run: bool, force: bool, sharing: Sharing) -> None:
    """Have the data of a plan at hand, and its parts built once: what cannot work is said before anything is written.

    Raises: UserError for what one of its runs would be refused for.
    """
    provide_data(plan, dry_run, force)
    if not (to_train := plan.to_train(force)):
        return
    if not force and sharing.is_begun(plan.cells, plan.results):
        sharing.check_stack(plan.cells, plan.results)
        return

    def said(cell: Cell, cause: str) -> str:
        apart = [word for word in plan.names.get(cell.path, "").split() if word not in cause]
        here = " ".join(word for word in apart if not word.startswith("seed="))
        return with_names(cause, cell.recipe) + (f"; in the run of {here}" if here else "")

    check_parts(to_train, sharing, said)
    check_stacks(to_train, sharing, force)


def provide_data(plan: Plan, dry_run: bool, force: bool) -> None:
    """Have the data of the plan's runs at hand; a dry run only looks. Raises Unavailable where that cannot be."""
    configs = [cell.config for cell in plan.to_train(force)]
    to_download(configs)
    if not dry_run:
        prefetch(configs)


def run_plan(plan: Plan, dry_run: bool, force: bool, sharing: Sharing) -> int:
    """Say the plan, estimate it, train it; return the exit status.

    Raises: Interrupted after Ctrl-C or SIGTERM, Submitted where workers elsewhere go on with it.
    """
    to_train = plan.to_train(force)
    for note in (*plan.recipes, plan.describe()):
        logger.info(note)
    for reason in plan.impossible:
        logger.info(f"left out: {reason}")
    for cell in plan.damaged:
        logger.info(f"{cell.path}: damaged; it will be set aside and trained afresh")
    if not to_train:
        return 0
    if dry_run and (names := to_download(cell.config for cell in to_train)):
        logger.info(f"how long it takes is not known before dataset={', dataset='.join(names)} is downloaded")
        return 0
    if sharing.is_elsewhere:
        return 0 if dry_run else shared_status(plan, run_shared(plan.cells, plan.results, sharing, []))
    with worker_pool(sharing.workers, len(to_train), sharing.kept) as workers:
        if not dry_run and not force and sharing.is_shared(plan.cells, plan.results):
            return shared_status(plan, run_shared(plan.cells, plan.results, sharing, workers))
        if plan.trials:
            logger.info(time_needed(workers, to_train, force, plan.trials))
        together = stacks(to_train, workers, sharing.stack, force)
        return 0 if dry_run else train_all(workers, plan, force, together)


def shared_status(plan: Plan, ended: Mapping[Path, tuple[str, str]]) -> int:
    """Name what failed, and what nobody trains any more; return the exit status."""
    missing = ("open", NOBODY)
    states = [(cell, *ended.get(cell.path, missing)) for cell in plan.cells]
    return say_failures([(cell, cause) for cell, status, cause in states if status not in FINISHED], len(plan.cells))


def take_sharing(overrides: Sequence[str], jobs: int | None, force: bool) -> tuple[Sharing, list[str]]:
    """Take `executor=`, `jobs=` and `stack=` out of the overrides. Raises UserError for what cannot work together.

    Args:
        jobs: of `--jobs`; the overrides then give none.
    """
    settings, overrides = take_executor(overrides)
    jobs, overrides = take_jobs(overrides, jobs)
    stack, overrides = take_stack(overrides)
    sharing = Sharing(settings, jobs, stack)
    sharing.check(force)
    return sharing, overrides


def take_jobs(overrides: Sequence[str], jobs: int | None) -> tuple[int | None, list[str]]:
    """Take `jobs=N` out of the overrides: it belongs to the sweep, not to a run. Raises UserError beside `--jobs N`."""
    given, rest = take_out(overrides, "jobs")
    if given and jobs is not None:
        raise UserError(f"jobs is given twice, as {jobs} and as {given[-1]}; give it once")
    asked = given[-1] if given else jobs
    return None if asked is None else whole_number("jobs", str(asked), 1), rest


def train_all(workers: list[Worker], plan: Plan, force: bool, stacked: Sequence[Job]) -> int:
    """Train the plan's cells, in stacks or alone, side by side under one bar; name the failures at the end."""
    cells = plan.to_train(force)
    failures: list[tuple[Cell, str]] = []
    ended: set[Path] = set()
    with sweep_progress(len(cells)) as progress:

        def end(cell: Cell, answer: dict[str, Any]) -> None:
            progress.ended(plan.name(cell), answer["status"])
            ended.add(cell.path)
            if answer["status"] not in FINISHED:
                failures.append((cell, with_names(answer.get("cause", answer["status"]), cell.recipe)))

        Pool(workers, lambda cell, step, steps: progress.step(plan.name(cell), step, steps), end).run(stacked, force)
    failures += [(cell, "its worker gave no answer") for cell in cells if cell.path not in ended]
    return say_failures(failures, len(cells))


def say_failures(failures: Sequence[tuple[Cell, str]], cells: int) -> int:
    """Name the cells that failed, of so many; return the exit status. Of many with one cause the first is named."""
    by_cause: dict[str, list[Cell]] = {}
    for cell, cause in failures:
        by_cause.setdefault(cause, []).append(cell)
    for cause, failed in by_cause.items():
        named = failed if len(failed) <= MOST_FAILURES else failed[:1]
        for cell in named:
            logger.info(f"failed: {cell.path}: {cause}")
            if (traceback := cell.path / TRACEBACK).exists():
                logger.info(f"        traceback: {traceback}")
        if more := len(failed) - len(named):
            logger.info(f"failed: {more} more with the same cause")
    if failures:
        logger.info(f"{len(failures)} of {amount(cells, 'run')} failed; the same command tries them again")
    return 1 if failures else 0
