"""Every scheme's layer: forward and backward beside the 3 x 3 convolution, a copy of its input, and batch norm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from time import thread_time
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from normexp.bench.operators import flops, moved
from normexp.bench.ratio import Ratio, decimals
from normexp.bench.result import Result
from normexp.bench.turns import in_turns, one_thread
from normexp.config import option, options
from normexp.norms.base import Norm
from normexp.norms.checks.memory import kept_relative_to_batch_norm
from normexp.norms.checks.subject import reproducible
from normexp.norms.checks.tasks import Maps, Task, seconds, tasks
from normexp.training.build import named_norm
from normexp.training.compiled_norms import GAINS, compile_norms, gaining
from normexp.training.process import compiler_set, large_blocks_kept

SHAPES = ((128, 96, 32, 32), (128, 192, 16, 16))
SMALL = ((16, 32, 16, 16),)
VECTORS = (128, 512)
LAYOUTS = {"NCHW": torch.contiguous_format, "channels_last": torch.channels_last}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
spent = partial(seconds, clock=thread_time)  # of this thread alone, which leave out what else the machine does
COMPILED = ", compiled"  # ends the name of a scheme whose modules compute as under `compile=norms`
BESIDE = ("convolution", "copy")
ON_VECTORS = 50  # times as many rounds there, which take a hundredth of the time
Times = dict[str, list[float]]  # scheme -> seconds, one per round


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time the layers with one thread, a table per shape and precision; the last is of vectors."""
    kept = {name: kept_relative_to_batch_norm(named_norm(name)) for name in names()}
    with one_thread(), large_blocks_kept(), compiler_set():
        for shape in SMALL if quick else SHAPES:
            for precision, dtype in DTYPES.items():
                layouts = {name: Maps(shape, dtype, memory) for name, memory in LAYOUTS.items()}
                times = {name: measured(maps, rounds) for name, maps in layouts.items()}
                yield result(precision, times, shape, kept, work(layouts["channels_last"]))
        vectors = {precision: Maps(VECTORS, dtype, torch.contiguous_format) for precision, dtype in DTYPES.items()}
        times = {precision: measured(each, 2 if quick else ON_VECTORS * rounds) for precision, each in vectors.items()}
        yield on_vectors(times, {precision: work(each) for precision, each in vectors.items()})


def names(maps: Maps | None = None) -> list[str]:
    """Return the schemes; for vectors without those that need maps."""
    flat = maps is not None and len(maps.shape) == 2
    return [name for name in options("norm") if name != "none" and not (flat and option("norm", name).get("_needs_"))]


def measured(maps: Maps, rounds: int) -> Times:
    """Return seconds of every scheme, of the convolution and of a copy; the rounds go round all of them.

    In the formats in which networks train, the schemes that gain by it are timed compiled, too.
    """
    every: dict[str, list[Task]] = {}
    less: dict[str, list[Task]] = {}
    with reproducible():
        for name in names(maps):
            norm = named_norm(name)
            every[name], less[name], convolution, _ = tasks(norm, maps)
            if gains(norm, maps):
                form = f"{name}{COMPILED}"
                every[form], less[form], *_ = tasks(norm, maps, partial(compiled, name))
    x, y = maps.random(), maps.random()

    def copy() -> None:
        y.copy_(x)

    every |= {"convolution": [convolution], "copy": [copy]}
    return in_turns({name: (own, less.get(name, [])) for name, own in every.items()}, rounds, _beyond)


def _beyond(passes: tuple[Sequence[Task], Sequence[Task]]) -> float:
    """Return the seconds that some passes take beyond others."""
    every, less = passes
    return max(sum(map(spent, every)) - sum(map(spent, less)), 0.0)


def gains(norm: Norm, maps: Maps) -> bool:
    """Tell whether `compile=norms` compiles the scheme in a format in which networks train."""
    channels, flat = maps.shape[1], len(maps.shape) == 2
    parts = norm.normalization(channels), norm.parametrize(nn.Linear(channels, channels))
    marks = [getattr(module, GAINS) for module in gaining(nn.Sequential(*parts))]
    return bool(marks) if flat else True in marks and maps.memory == torch.channels_last


def compiled(name: str, module: nn.Module) -> nn.Module:
    compile_norms(nn.Sequential(module), name)
    return module


@dataclass
class Work:
    """What forward and backward of every scheme do by its ordinary operators, whatever the clock says.

    Args:
        moved: what the operators read and write, in passes over the tensor.
        operators: how many there are; views are none.
        flops: additions and multiplications of matrix products, for each value of the tensor.
    """

    moved: dict[str, float]
    operators: dict[str, int]
    flops: dict[str, float]


def work(maps: Maps) -> Work:
    found, like = Work({}, {}, {}), maps.random()
    with reproducible():
        for name in names(maps):
            every, less, *_ = tasks(named_norm(name), maps)
            own, replaced = counted(every), counted(less)
            found.moved[name] = (own.bytes - replaced.bytes) / like.nbytes
            found.operators[name] = own.operators - replaced.operators
            found.flops[name] = (own.flops - replaced.flops) / like.numel()
    return found


def counted(passes: Sequence[Task]) -> Counter:
    with Counter() as counter:
        for task in passes:
            task()
    return counter


class Counter(TorchDispatchMode):
    """Adds up what the operators inside read, write and multiply."""

    bytes = operators = flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        if not func.is_view:
            self.bytes += moved(func, args, kwargs, found)
            self.flops += flops(func, args, kwargs, found)
            self.operators += 1
        return found


def result(
    precision: str,
    found: dict[str, Times],
    shape: Sequence[int],
    kept: dict[str, float],
    done: Work,
) -> Result:
    size = "x".join(map(str, shape))
    columns = [f"{what}, {layout}" for layout in found for what in ("of the convolution", "passes")]
    rows = [name for name in found["channels_last"] if name not in BESIDE]
    return Result(
        name=f"layers-{size}-{precision}",
        caption=f"Forward and backward of every scheme on ({size.replace('x', ', ')}), {precision}: time as a share "
        "of the 3 x 3 convolution beside it, and in passes over the tensor at the speed of a copy (a copy is two); "
        "passes that its operators make over the tensor or parts of it in the cache; bytes kept for backward as a "
        "share of what batch norm keeps. Medians of paired ratios of processor time, on one thread.",
        headers=["norm", *columns, "of its operators", "kept"],
        cells=[
            [name, *(cell for times in found.values() for cell in _cells(name, times)),
             decimals(done.moved.get(name), 1), decimals(kept.get(name), 2)]
            for name in rows
        ],
        data={"seconds": found, "kept": kept, **asdict(done), "threads": torch.get_num_threads()},
    )  # fmt: skip


def on_vectors(found: dict[str, Times], done: dict[str, Work]) -> Result:
    """Return the table of (N, C): times relative to batch norm, the plain and the compiled layers."""
    size = "x".join(map(str, VECTORS))
    columns = [column for precision in found for column in (precision, f"{precision}{COMPILED}")]
    counts = {field.name: {key: getattr(each, field.name) for key, each in done.items()} for field in fields(Work)}
    return Result(
        name=f"layers-{size}",
        caption=f"Forward and backward of every scheme on ({size.replace('x', ', ')}): time relative to batch norm. "
        "Medians of paired ratios of processor time, on one thread.",
        headers=["norm", *columns],
        cells=[
            [name, *(decimals(_ratio(times, form, "batch"), 2) for times in found.values()
                     for form in (name, f"{name}{COMPILED}"))]
            for name in next(iter(done.values())).moved
        ],
        data={"seconds": found, **counts, "threads": torch.get_num_threads()},
    )  # fmt: skip


def _cells(name: str, times: Times) -> Iterator[str]:
    copies = _ratio(times, name, "copy")
    yield decimals(_ratio(times, name, "convolution"), 2)
    yield decimals(copies and 2 * copies, 1)


def _ratio(times: Times, ours: str, theirs: str) -> float | None:
    """Return the median of paired ratios; None where it was not measured."""
    return Ratio.of(times[ours], times[theirs]).median if ours in times else None
