"""`stack=true` beside runs one after the other: steps alone, and whole runs with their evaluations and records."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.turns import in_turns
from normexp.config import Config, compose
from normexp.data.loading import Loader
from normexp.norms.checks.tasks import seconds
from normexp.runs.progress import NullProgress
from normexp.runs.run import run as run_alone
from normexp.runs.stack import train_stack
from normexp.training.build import build, initialize_from_data
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.process import process_settings
from normexp.training.stacked import Stacked

WORKS = {
    "linear, digits": ("dataset=digits", "model=linear"),
    "mlp of 32, digits": ("dataset=digits", "model=mlp", "model.widths=[32]", "norm=batch"),
    "mlp of 100, 100, 100, digits": ("dataset=digits", "model=mlp", "norm=batch"),
    "linear, table": ("dataset=covariate_shift", "model=linear"),
}
COMMON = ("device=cpu", "threads=1")
RUNS, SOME, STEPS = 64, 8, 20  # of a stack; of those that are timed alone; steps of a turn
WAYS = ("alone", "stacked", "stacked, compile=true")
spent = partial(seconds, clock=time.process_time)  # neighbours' time does not count


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Take turns: so many steps of every run, one after the other and stacked; then whole runs, every way once."""
    cells, data = [], []
    for work, words in list(WORKS.items())[: 1 if quick else None]:
        configs = [compose([*words, *COMMON, f"seed={seed}"]) for seed in range(4 if quick else RUNS)]
        steps, whole = _turns(configs, rounds), _whole(configs)
        for way in WAYS[1:]:
            ratio = Ratio.of(steps["alone"], steps[way])
            cells.append([f"{work}: {way}", str(ratio), str(Ratio.of([whole["alone"]], [whole[way]]))])
        data.append({"work": [*words, *COMMON], "runs": len(configs), "steps": steps, "whole": whole})
    yield Result(
        name="stack",
        caption=f"{RUNS} runs stacked, against one after the other without compile: processor time, on one thread.",
        headers=["runs", "steps take less by", "whole runs take less by"],
        cells=cells,
        notes=(
            f"Steps: turns of {STEPS} steps of each run, way by way; median of paired turns (least to greatest).",
            f"Alone, {SOME} of the runs stand for all.",
            "Whole runs: 20 epochs with evaluations and records, and the compilation where there is one; once each.",
        ),
        data=data,
    )


def _turns(configs: Sequence[Config], rounds: int) -> dict[str, list[float]]:
    """Return the processor seconds of each turn, way by way; one turn more is not counted."""
    with process_settings(compiled=True):
        torch.set_num_threads(1)
        some = [fit(components) for components in _built(configs[:SOME])]
        ways: dict[str, Callable[[], object]] = {"alone": lambda: [list(islice(updates, STEPS)) for updates in some]}
        ways |= {way: _stacked(configs, "compile" in way) for way in WAYS[1:]}
        times = in_turns(ways, rounds, spent)
    return times | {"alone": [each * len(configs) / len(some) for each in times["alone"]]}


def _stacked(configs: Sequence[Config], compiled: bool) -> Callable[[], object]:
    """Return what does some steps of all runs, stacked."""
    stacked = Stacked(_built([_with(config, compile=compiled) for config in configs]))
    batches = enumerate(stacked.batches())
    return lambda: [stacked.step(x, y, done) for done, (x, y) in islice(batches, STEPS)]


def _with(config: Config, **values: object) -> Config:
    return replace(config, values={**config.values, **values})


def _built(configs: Sequence[Config]) -> list[Components]:
    """Build runs that train as long as anybody asks."""
    loader, made = Loader(), []
    for config in configs:
        longer = _with(config, steps=10**6)
        made.append(build(longer, loader.load(longer), loader.examples))
        initialize_from_data(made[-1])
    return made


def _whole(configs: Sequence[Config]) -> dict[str, float]:
    """Return the processor seconds of training all runs to the end, way by way."""
    loader, times = Loader(), {}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / config.name for config in configs]
            made = [_with(config, compile="compile" in way) for config in configs[: SOME if way == "alone" else None]]

            def train(
                made: Sequence[Config] = made, paths: Sequence[Path] = paths, alone: bool = way == "alone"
            ) -> None:
                if not alone:
                    train_stack(made, paths, False, NullProgress, loader)
                    return
                for config, path in zip(made, paths, strict=False):
                    run_alone(config, path=path, loader=loader)

            times[way] = spent(train) * len(configs) / len(made)
    return times
