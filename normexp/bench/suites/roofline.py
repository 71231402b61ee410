"""The time of a training step beside what the machine allows: by its matrix rate and by its memory.

An operator can take no less than its arithmetic at the rate of a matrix product, and no less than its operands and
results, each moved once, at the rate of a stream (the roofline of Williams, Waterman & Patterson 2009).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from normexp.bench.operators import GROUPS, OPTIMIZER, OTHER, Call, Recording
from normexp.bench.result import Result
from normexp.bench.suites.steps import WORKS as RACED
from normexp.bench.work import Work
from normexp.norms.networks.trial import hooked
from normexp.training.bfloat16 import has_bfloat16_kernels
from normexp.training.build import build, initialize_from_data
from normexp.training.components import Components
from normexp.training.fit import Update, fit
from normexp.training.machine.processor import load_average
from normexp.training.process import process_settings

# On one thread, as the cells of a sweep are trained: its processor time is the same beside busy neighbours.
WORKS = {
    "cnn": (*RACED["cnn"], "threads=1"),
    "cnn-bf16": (*RACED["cnn-bf16"], "threads=1"),
    "resnet": (*RACED["cnn"], "model=resnet_small", "threads=1"),
    "convpool": (*RACED["convpool"], "threads=1"),
    "gpt": (*RACED["gpt"], "threads=1"),
}
SIDE = 1024  # of square matrices, whose product takes much longer than waking the threads
LENGTH = 2**24  # numbers of a stream: 64 MiB in float32, as large as the larger maps of the networks
BETWEEN = "between operators"
STEPS = 5  # per round, of each kind
Seconds = float
Clock = Callable[[], Seconds]


@dataclass(frozen=True)
class Machine:
    """What the machine was measured to do with the threads of the run.

    Args:
        flops: per second, in a matrix product of the run's precision.
        bandwidth: bytes per second, in a + s b -> c.
    """

    flops: float
    bandwidth: float

    def possible(self, call: Call) -> Seconds:
        """Return the least time that an operator can take."""
        return max(call.flops / self.flops, call.bytes / self.bandwidth)


@dataclass(frozen=True)
class Step:
    """A training step.

    Args:
        seconds: the step as it is.
        counted: the step while its operators are counted.
        calls: its operators.
    """

    seconds: Seconds
    counted: Seconds
    calls: Sequence[Call]


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Measure the usual works, or one configuration of the user's own."""
    works = {"own": tuple(overrides)} if overrides else WORKS
    for name, words in list(works.items())[: 1 if quick else None]:
        work = Work(words)
        with process_settings():
            components = build(work.config, work.data)
            torch.set_num_threads(components.threads)
            machine, step = measured(components, work.bf16, rounds, 2 if quick else STEPS)
        yield result(name, words, machine, step, components.threads)


def measured(components: Components, bf16: bool, rounds: int, steps: int) -> tuple[Machine, Step]:
    """Measure the machine and the step in turns; the least of every time counts, the nearest to an idle machine."""
    initialize_from_data(components)
    halved = bf16 and has_bfloat16_kernels(components.device)
    product, stream = matrix_product(torch.bfloat16 if halved else torch.float32), triad()
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    plain, counted = updates(components), counted_updates(components, clock)
    next(counted)
    times: list[list[Seconds]] = [[], [], []]
    found: list[tuple[Seconds, list[Call]]] = []
    for _ in range(rounds):
        times[0].append(quickest(product, steps, clock))
        times[1].append(quickest(stream, steps, clock))
        times[2].append(quickest(lambda: next(plain), steps, clock))
        found += [next(counted) for _ in range(steps)]
    machine = Machine(2 * SIDE**3 / min(times[0]), 3 * 4 * LENGTH / min(times[1]))
    return machine, Step(min(times[2]), min(seconds for seconds, _ in found), quietest([calls for _, calls in found]))


def quietest(steps: Sequence[Sequence[Call]]) -> list[Call]:
    """Return the operators of one step, each with the least of its times in all steps that have the same ones."""
    same = [step for step in steps if [call.name for call in step] == [call.name for call in steps[-1]]]
    return [min(calls, key=lambda call: call.seconds) for calls in zip(*same, strict=True)]


def updates(components: Components) -> Iterator[Update]:
    """Yield the updates of the run, more than it has, the first of which are done."""
    made = fit(components, stop=sys.maxsize)
    next(made)  # makes the step, before anybody looks at the optimizer
    return made


def counted_updates(components: Components, clock: Clock) -> Iterator[tuple[Seconds, list[Call]]]:
    """Yield seconds and operators of one update after the other."""
    counter, optimizer = Recording(components.model, clock), components.optimizer
    handles = [
        optimizer.register_step_pre_hook(lambda *_: setattr(counter, "part", OPTIMIZER)),
        optimizer.register_step_post_hook(lambda *_: setattr(counter, "part", None)),
    ]
    batches = counter.drawn(components.batches.from_step(0))
    made = fit(components, stop=sys.maxsize, batches=batches)
    with hooked(handles):
        while True:
            counter.calls = []
            began = clock()
            with counter:
                next(made)
            yield clock() - began, counter.calls


def quickest(task: Callable[[], object], times: int, clock: Clock) -> Seconds:
    """Return the least of several times."""
    found = []
    for _ in range(times):
        began = clock()
        task()
        found.append(clock() - began)
    return min(found)


def matrix_product(dtype: torch.dtype) -> Callable[[], object]:
    a, b = (torch.ones(SIDE, SIDE, dtype=dtype) for _ in range(2))
    return lambda: torch.mm(a, b)


def triad() -> Callable[[], object]:
    a, b, c = (torch.ones(LENGTH) for _ in range(3))
    return lambda: torch.add(a, b, alpha=3.0, out=c)


@dataclass(frozen=True)
class Row:
    """The operators of one group in one step; seconds as measured, and as few as possible."""

    calls: int
    seconds: Seconds
    flops: int
    bytes: int
    possible: Seconds

    @classmethod
    def of(cls, calls: Sequence[Call], machine: Machine) -> Row:
        return cls(
            len(calls),
            sum(call.seconds for call in calls),
            sum(call.flops for call in calls),
            sum(call.bytes for call in calls),
            sum(map(machine.possible, calls)),
        )

    def cells(self, whole: Seconds) -> list[str]:
        left = self.seconds - self.possible
        return [
            f"{self.calls}", f"{1e3 * self.seconds:.2f}", f"{100 * self.seconds / whole:.0f}",
            f"{self.flops / 1e9:.2f}", f"{self.bytes / 1e6:.0f}", f"{1e3 * self.possible:.2f}" if self.calls else "",
            f"{self.possible / self.seconds:.2f}" if self.calls else "", f"{100 * left / whole:.0f}",
        ]  # fmt: skip


def by_group(step: Step, machine: Machine) -> dict[str, Row]:
    """Return the groups of a step, then what is no operator, then the whole step."""
    groups = {group: [call for call in step.calls if call.group == group] for group in GROUPS}
    rows = {group: Row.of(calls, machine) for group, calls in groups.items() if calls}
    every = Row.of(step.calls, machine)
    return rows | {
        BETWEEN: Row(0, step.seconds - every.seconds, 0, 0, 0.0),
        "step": replace(every, seconds=step.seconds),
    }


def result(name: str, words: Sequence[str], machine: Machine, step: Step, threads: int) -> Result:
    rows = by_group(step, machine)
    return Result(
        name=f"roofline-{name}",
        caption=f"`{' '.join(words)}`: one step beside what the machine allows, {machine.flops / 1e9:.0f} GFLOP/s in a "
        f"matrix product and {machine.bandwidth / 1e9:.0f} GB/s in a stream on {threads} thread{'s' * (threads > 1)}; "
        f"measured with a load of {load_average()[-1]:.0f} in the fifteen minutes before.",
        headers=["operators", "calls", "ms", "of the step, %", "GFLOP", "MB", "possible, ms", "reached", "left, %"],
        cells=[[group, *row.cells(step.seconds)] for group, row in rows.items()],
        notes=(
            "Possible: each operator's arithmetic at that rate or its operands and results, moved once, at that "
            "bandwidth, whichever takes longer; reached: possible over measured. Above 1 the cache helps.",
            f"Every time is the least of several, of one thread its processor time; {BETWEEN}: the step less its "
            f"operators. Counting makes the step {step.counted / step.seconds:.2f} times as long.",
            *([f"Other: {longest(step.calls)}."] if OTHER in rows else []),
        ),
        data={
            "flops_per_second": machine.flops,
            "bytes_per_second": machine.bandwidth,
            "threads": threads,
            "counted_step_seconds": step.counted,
            "groups": {group: vars(row) for group, row in rows.items()},
            "operators": {group: composition(step.calls, group) for group in rows if group in GROUPS},
        },
    )


def composition(calls: Sequence[Call], group: str) -> dict[str, Seconds]:
    """Return the seconds of each operator of a group, the longest first."""
    spent: dict[str, Seconds] = {}
    for call in calls:
        if call.group == group:
            spent[call.name] = spent.get(call.name, 0.0) + call.seconds
    return dict(sorted(spent.items(), key=lambda each: -each[1]))


def longest(calls: Sequence[Call]) -> str:
    """Name the operators that no group knows, with their milliseconds."""
    return ", ".join(f"{name} {1e3 * spent:.2f} ms" for name, spent in list(composition(calls, OTHER).items())[:6])
