"""`normexp reproduce`: choose the hyperparameters, train what is missing, render; the same command continues it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from shlex import quote
from typing import Any

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.freeze import freeze
from normexp.experiments.grids import Selection
from normexp.experiments.halving import rung_points, rungs
from normexp.experiments.keys import PLUGINS
from normexp.experiments.sampling import is_scored, score
from normexp.experiments.selection import choice_path, read_choice, undecided_choices, write_choice
from normexp.experiments.shape import check_arms
from normexp.experiments.trials import choosings, combinations
from normexp.records import FINISHED
from normexp.records.files import remove_empty
from normexp.sweeps.plan import Cell, Plan, check_cells
from normexp.sweeps.submit import Sharing
from normexp.sweeps.sweep import provide_data
from normexp.sweeps.sweep import run_plan as run_cells

logger = logging.getLogger("normexp")


def reproduce(
    experiment: Experiment,
    results: Path,
    arm: str | None,
    dry_run: bool,
    force: bool,
    sharing: Sharing,
    still_open: Callable[[], Sequence[str]] | None = None,
) -> int:
    """Run one experiment at its scale; return the exit status, 0 or 1 where a run failed.

    Args:
        arm: run this arm only (a row of the table).
        sharing: whose workers train, and how many, of both stages.
        still_open: tells which claims the records leave open, after every look of a sequential design; without it all
            seeds are run.

    Raises: UserError for an unknown arm, or one by itself under a sequential design (its claims compare arms);
        or runs that were made under other settings; Unavailable without the data;
        Interrupted after Ctrl-C; Submitted where workers elsewhere go on with it.
    """
    if arm is not None:
        check_arms(f"experiment {experiment.name}", [arm], experiment.arms)
        if experiment.design is not None:
            raise UserError(f"--cell {arm!r}: {experiment.name} adds seeds until its claims are decided, to all arms")
    arms = [arm] if arm else list(experiment.arms)

    def train(plan: Plan, heading: str) -> int:
        provide_data(plan, dry_run, force)
        frozen = None if dry_run else freeze(experiment, results)
        logger.info(f"{experiment.name}, scale {experiment.scale}: {heading}")
        try:
            return run_cells(replace(plan, results=results), dry_run, force, sharing)
        except UserError:
            if frozen is not None:
                _unfreeze(frozen)
            raise

    if experiment.select is not None and (status := _choose(experiment, results, arms, dry_run, force, train)):
        return status
    if dry_run:
        return train(*_expected(experiment, results, arms, force, still_open))
    return _in_stages(experiment, lambda stage: train(run_plan(stage, results, arms, force), stage.title), still_open)


def _expected(
    experiment: Experiment,
    results: Path,
    arms: Sequence[str],
    force: bool,
    still_open: Callable[[], Sequence[str]] | None,
) -> tuple[Plan, str]:
    """Return the runs that are to be expected, and a heading: no more of a sequential design once all is decided."""
    taken = _looks_taken(experiment, results, arms)
    if taken.cells and not force and still_open and not still_open():
        return taken, f"{experiment.title}: no claim is open"
    at_most = ", at most" if experiment.design else ""
    return expected_plan(experiment, results, arms, force), experiment.title + at_most


def _choose(
    experiment: Experiment,
    results: Path,
    arms: Sequence[str],
    dry_run: bool,
    force: bool,
    train: Callable[[Plan, str], int],
) -> int:
    """Train what the hyperparameters are chosen from, rung by rung or trial by trial; return the exit status."""
    select, counted = experiment.select, False
    assert select is not None  # there is something to choose
    for rung in range(rungs(select)):
        plan = selection_plan(experiment, results, arms, force, rung)
        if select.sampler:
            trials, counted = 0 if counted else rungs(select) - rung, counted or bool(plan.to_train(force))
            plan = replace(plan, trials=trials)
        if status := train(plan, f"choosing {', '.join(select.search)}{_rung(select, rung)}"):
            return status
        if dry_run and not _is_over(experiment, results, arms, rung, plan):
            break  # which of them the next rung would train is not known yet
        if select.sampler and not dry_run:
            score(experiment, results, arms, rung)
    if not dry_run:
        write_choice(experiment, results, arms)
    if names := undecided_choices(experiment, results):
        logger.info(f"the best two lie within noise, three seeds in select.seeds would tell: {'; '.join(names)}")
    return 0


def _unfreeze(frozen: Path) -> None:
    """Take back what was frozen for runs that were refused, and the folders in which nothing else is."""
    if list(frozen.parent.iterdir()) == [frozen]:
        frozen.unlink()
        remove_empty(list(frozen.parents)[:3])  # results/NAME/SCALE


def _in_stages(
    experiment: Experiment, train: Callable[[Experiment], int], still_open: Callable[[], Sequence[str]] | None
) -> int:
    """Train what the first look needs, and of the next ones as long as a claim is open; return the exit status."""
    stages = experiment.stages()
    for taken, stage in enumerate(stages, start=1):
        if (status := train(stage)) or taken == len(stages):
            return status
        left = still_open() if still_open else experiment.claims
        assert experiment.design is not None  # there are several stages
        logger.info(f"{experiment.design.progress(taken)}: {len(left)} of {len(experiment.claims)} claims are open")
        if not left:
            break
    return 0


def _looks_taken(experiment: Experiment, results: Path, arms: Sequence[str]) -> Plan:
    """Return the runs of the looks that a sequential design has behind it; none where there is no design."""
    stages = experiment.stages() if experiment.design else []
    plans = (expected_plan(stage, results, arms, False).cells for stage in stages)
    taken = takewhile(lambda cells: all(cell.state in FINISHED for cell in cells), plans)
    return Plan([cell for cells in taken for cell in cells])


def _is_over(experiment: Experiment, results: Path, arms: Sequence[str], rung: int, plan: Plan) -> bool:
    """Tell whether the records say what the next rung trains."""
    assert experiment.select is not None
    trained = all(cell.state in FINISHED for cell in plan.cells)
    return trained and (experiment.select.sampler is None or is_scored(experiment, results, arms, rung))


def _rung(select: Selection, rung: int) -> str:
    """Say which rung of a successive halving it is, and what follows; of a sampler which trial."""
    if select.sampler:
        return f" by {select.sampler.name}, trial {rung + 1} of {select.sampler.trials}"
    if select.halving is None:
        return ""
    later = zip(select.halving.keep[rung:], select.halving.steps[rung + 1 :], strict=True)
    then = "".join(f", then the best {keep} for {steps}" for keep, steps in later)
    return f", {select.halving.steps[rung]} steps{then}"


def selection_plan(experiment: Experiment, results: Path, arms: Sequence[str], force: bool, rung: int = 0) -> Plan:
    """Return the runs that the choice of hyperparameters for these arms needs.

    Args:
        rung: of a successive halving; from the second on the runs of the one before decide which.
    """
    cells = [
        Cell(
            experiment.config(choosing.arm, point, choosing.select.common),
            run_place(results, experiment, choosing.arm, point, "select"),
        )
        for choosing in choosings(experiment, results, arms).values()
        for point in rung_points(choosing, rung)
    ]
    check_cells(cells, force)
    return Plan(cells)


def run_plan(experiment: Experiment, results: Path, arms: Sequence[str], force: bool) -> Plan:
    """Return the runs of the experiment proper, with the chosen hyperparameters. Raises UserError where one is not."""
    chosen = read_choice(experiment, results)
    for name in experiment.choices(arms) if experiment.select and not experiment.select.arm else ():
        if name not in chosen:
            raise UserError(f"{choice_path(experiment, results)}: nothing is chosen for {name}; delete it")
    cells = _pairs_together([arm_cells(experiment, results, arm, chosen, {}) for arm in arms])
    check_cells(cells, force)
    return Plan(cells)


def _pairs_together(arms: Sequence[Sequence[Cell]]) -> list[Cell]:
    """Return the runs point by point: what is compared is trained on one machine, and a part compares every arm."""
    return [cell for at_point in zip(*arms, strict=True) for cell in at_point]


def expected_plan(experiment: Experiment, results: Path, arms: Sequence[str], force: bool) -> Plan:
    """Return the same before the choice: a run without one counts with the first combination, which takes as long."""
    if experiment.select is None:
        return run_plan(experiment, results, arms, force)
    chosen = read_choice(experiment, results) if choice_path(experiment, results).exists() else {}
    decided = [arm for arm in arms if all(name in chosen for name in experiment.choices([arm]))]
    plan = run_plan(experiment, results, decided, force) if decided else Plan([])
    first = combinations(experiment.select)[0]
    open_arms = [arm for arm in arms if arm not in decided]
    return Plan(plan.cells + [cell for arm in open_arms for cell in arm_cells(experiment, results, arm, chosen, first)])


def arm_cells(
    experiment: Experiment,
    results: Path,
    arm: str,
    chosen: Mapping[str, Mapping[str, Any]],
    usual: Mapping[str, Any],
) -> list[Cell]:
    """Return one arm's runs with the chosen hyperparameters, the usual ones where there is no choice."""
    return [
        Cell(
            experiment.config(arm, point, chosen.get(experiment.choice_of(arm, point), usual)),
            run_place(results, experiment, arm, point),
        )
        for point in experiment.points()
    ]


def command(experiment: Experiment) -> str:
    """Return the command that makes an experiment again."""
    plugins = experiment.common.get(PLUGINS, [])
    typed = f" '{PLUGINS}=[{','.join(plugins)}]'" if plugins else ""
    named = quote(str(experiment.file or experiment.name))
    return f"normexp reproduce {named} scale={experiment.scale}{typed}"
