"""From typing a command to its first step or answer, beside the import of torch that nothing can avoid."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence

from normexp.bench.commands import seconds
from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.turns import in_turns
from normexp.children import normexp, python

DATA = (
    "import torch; from normexp.config.instantiate import instantiate as i; from normexp.config import compose as c; "
)
BASE = python(DATA + "i(c([])['dataset']).load(0); import os; os._exit(0)")  # no teardown, as below
# The loop is replaced by the end of the process: what is timed is everything before the first step.
FIRST = (
    "import os, normexp.runs.trainer as e; e.fit = lambda *a: os._exit(0); from normexp.cli.verbs import main; main({})"
)


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time fresh processes, one of each kind per round."""
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "python -c 'import torch', and the data": BASE,
            "normexp run norm=batch model=cnn, to its first step": python(FIRST.format(first(folder))),
            "normexp --help": normexp("--help"),
            "normexp list": normexp("list"),
            "normexp status": normexp("status", folder),
        }
        seconds(normexp("run", "model=linear", "steps=1", "--quiet", f"results_dir={folder}"))  # for status to see
        times = in_turns(commands, 2 if quick else rounds, seconds)
    base = next(iter(times.values()))
    yield Result(
        name="start",
        caption="Whole commands in fresh processes, relative to the first. Median (least to greatest) of the rounds.",
        headers=["command", "relative time", "seconds, here and now"],
        cells=[[name, str(Ratio.of(own, base)), f"{min(own):.2f}"] for name, own in times.items()],
        data=times,
    )


def first(folder: str) -> list[str]:
    return ["run", "norm=batch", "model=cnn", f"results_dir={folder}/first", "--quiet", "--force"]
