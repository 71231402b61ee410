"""One study -> one recorded run directory. A study takes seconds: a killed one starts again."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from normexp.config import Config, option
from normexp.config.instantiate import instantiate
from normexp.errors import UserError, first_line, kind_and_line, raised_by
from normexp.evidence.audit import NUMBERS
from normexp.records import CONFIG, FINISHED, METRICS, TRACEBACK, RunDirectory, write_atomically
from normexp.records.curve_file import csv_text
from normexp.runs.environment import about_data
from normexp.runs.loggers import Logs
from normexp.runs.own_code import own_code
from normexp.runs.recorder import held
from normexp.runs.signals import is_stop
from normexp.seeding import seed_all, stream
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.checks.own_part import name_own_part
from normexp.training.machine.hardware import choose_device, describe
from normexp.training.machine.processor import load_average
from normexp.training.process import modes_of_torch, threads_and_random_kept


def run_study(config: Config, directory: RunDirectory, force: bool, alone: bool = False) -> None:
    """Carry out the configuration's study, unless it has ended already.

    Args:
        alone: it is no part of a sweep, which records a run in which a part of the user's own fails.

    Raises: UserError where it cannot work, its scheme takes no such numbers, or, alone, a part of the user's own fails.
    """
    study: Study = instantiate(config["study"])
    threads = config["threads"] or 1  # of torch and of NumPy alike
    with (
        held(directory),
        threads_and_random_kept(),
        modes_of_torch(),
        threadpool_limits(threads, "blas"),
        ExitStack() as process,
    ):
        status = directory.status
        if status["status"] in FINISHED and not force:
            return
        torch.set_num_threads(threads)
        seed_all(stream(config["seed"], "study"))  # of what draws without a stream of its own: a scheme's first state
        attempts = int(status.get("attempts", 0)) + 1
        try:
            _measure(study, StudyContext(config, process), directory, attempts)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, ValueError) and said_by_scheme(error):
                chosen = " ".join(f"{group}={config.choices[group]}" for group in ("study", "norm"))
                raise UserError(f"{chosen}: {first_line(error)}") from error
            name_own_part(error, config)
            if alone and raised_by(error) and not is_stop(error):  # as it is for a run in its first step
                raise UserError(kind_and_line(error)) from error
            again = status["status"] in FINISHED  # a record that was to be made again stays as it was
            if not (again or is_stop(error)):
                _record_failure(error, config, directory, attempts)
            raise


def said_by_scheme(error: Exception) -> bool:
    """Tell whether one of our schemes raised an error: it says what it cannot normalize, a number or a shape."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__")).startswith("normexp.norms.")


def _record_failure(error: BaseException, config: Config, directory: RunDirectory, attempts: int) -> None:
    write_atomically(directory.path / CONFIG, config.recorded().to_yaml())
    directory.write_status("failed", step=0, attempts=attempts, cause=kind_and_line(error))
    write_atomically(directory.path / TRACEBACK, traceback.format_exc())


def _measure(study: Study, context: StudyContext, directory: RunDirectory, attempts: int) -> None:
    began, load = time.monotonic(), load_average()
    outcome = study.measure(context)
    names = list(option("study", context.config.choices["study"])["_metrics_"])
    _check(outcome, names)
    (directory.path / TRACEBACK).unlink(missing_ok=True)
    write_atomically(directory.path / CONFIG, context.config.recorded().to_yaml())
    directory.write_environment({**_environment(context), "load": load, "load_at_end": load_average()})
    write_atomically(directory.path / METRICS, csv_text(["step", *names], outcome.rows))
    for name, rows in outcome.tables.items():
        write_atomically(directory.path / f"{name}.csv", csv_text(list(rows[0]), rows))
    if outcome.numbers:
        rows = [asdict(number) for number in outcome.numbers]
        write_atomically(directory.path / NUMBERS, csv_text(list(rows[0]), rows))
    last = outcome.rows[-1]["step"]
    seconds = round(time.monotonic() - began, 4)
    directory.finish("done", step=last, steps=last, attempts=attempts, seconds=seconds)
    Logs(context.config, directory).end("done", int(str(last)), "")


def _check(outcome: Outcome, names: Sequence[str]) -> None:
    """Hold the study to what its option promises: experiments are checked by it before anything runs."""
    for row in outcome.rows:
        if set(row) != {"step", *names}:
            raise AssertionError(f"a row has {sorted(set(row) - {'step'})}, the option promises {sorted(names)}")
    if not outcome.rows:
        raise AssertionError("the study measured nothing")


def _environment(context: StudyContext) -> dict[str, Any]:
    facts = describe(choose_device(context.config["device"]), torch.get_num_threads()) | own_code(context.config)
    return {**facts, "data": about_data(context.config, context.data)} if context.data_loaded else facts
