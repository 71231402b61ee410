"""How OpenMP's threads wait for each other, spinning or asleep: alone, and with busy neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from normexp.bench.race import started
from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.turns import in_turns
from normexp.children import child, python
from normexp.training.machine.cores import BRIEFLY, physical_cores

WORKS = {
    "cnn on digits": ("dataset=digits", "model=cnn", "norm=batch"),
    "mlp on digits": ("dataset=digits", "model=mlp", "norm=batch"),
}
DEFAULT = "spinning, as by default"
WAYS = {
    DEFAULT: {"OMP_WAIT_POLICY": "", "GOMP_SPINCOUNT": ""},
    "spinning briefly, as normexp": {"OMP_WAIT_POLICY": "", "GOMP_SPINCOUNT": BRIEFLY},
    "asleep at once": {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": ""},
}
STEPS = 30  # of a turn
NEIGHBOUR = """
import os
parent = os.getppid()
while os.getppid() == parent:  # none is left behind where we are killed
    for _ in range(1_000_000):
        pass
"""


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Let the same training wait in every way, a turn each, with and without processes that never sleep."""
    cores, cells, data = physical_cores(), [], []
    for work, words in list(WORKS.items())[: 1 if quick else None]:
        for neighbours in (0, cores):
            times = turns(words, neighbours, 2 if quick else 3 * rounds)
            default = times[DEFAULT]
            for way, own in times.items():
                least = f"{min(default) / min(own):.2f}"
                cells.append([work, str(neighbours), way, str(Ratio.of(default, own)), least])
                data.append({"work": work, "neighbours": neighbours, "way": way, "milliseconds_per_step": own})
    yield Result(
        name="waiting",
        caption=f"{cores} threads that wait in several ways: how much faster than by default.",
        headers=["training", "busy neighbours", "threads wait", "faster by", "faster by, quietest turns"],
        cells=cells,
        notes=(
            f"Turns of {STEPS} steps, one way after the other; neighbours are processes that never sleep.",
            "Median of paired turns (least to greatest); quietest: least times of all turns, the nearest to idle.",
        ),
        data=data,
    )


def turns(words: Sequence[str], neighbours: int, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds per step of every turn, way by way."""
    with ExitStack() as stack:
        sides = {way: stack.enter_context(started("normexp", words, settings)) for way, settings in WAYS.items()}
        stack.enter_context(busy(neighbours))
        return in_turns(sides, rounds, lambda side: 1000 * side.turn(STEPS)[0] / STEPS)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Have processes beside us that compute without a pause, in sessions of their own, as another user's are."""
    with ExitStack() as stack:
        for _ in range(processes):
            stack.enter_context(child(python(NEIGHBOUR)))
        yield
