"""All that a run changes in its process, and undoes at its end: allocator, denormals, threads, torch's modes.

A run is faster, in part much faster, with a few settings that are not its own but the process's. They hold inside
`process_settings` and nowhere else; what the caller's own code sees afterwards is as it was before. The environment
variable NORMEXP_PROCESS_SETTINGS=0 switches them off, but for threads and random streams, which are put back always,
and for the caller's modes, which would make another run of this one.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch.optim import Optimizer
from torch.optim import optimizer as _torch

from normexp.seeding import random_kept
from normexp.torch_modes import gradients_and_full_precision, made_on_cpu, threads_kept
from normexp.training.machine.cores import settings_wanted

T = TypeVar("T")
COMPILER = {"trace_autograd_ops": True, "recompile_limit": 2**16, "accumulated_recompile_limit": 2**16}
_ONE_AT_A_TIME = threading.RLock()
_WITHOUT_COMPILER = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")


@contextmanager
def process_settings(compiled: bool = False, precision: str = "fp32") -> Iterator[None]:
    """Have the process as training wants it, and at the end as it was.

    Args:
        compiled: the run compiles its step, or layers of it; by default torch's compiler is not even imported.
        precision: the run's: only with "tf32" a GPU may round the factors of float32 products.
    """
    with ExitStack() as stack:
        stack.enter_context(threads_and_random_kept())
        stack.enter_context(modes_of_torch())
        stack.enter_context(float32_products(rounded=precision == "tf32"))
        stack.enter_context(packing_not_warned_of())
        if settings_wanted():
            stack.enter_context(large_blocks_kept())
            stack.enter_context(denormals_flushed())
            stack.enter_context(compiler_set() if compiled else compiler_left_out())
        yield


@contextmanager
def threads_and_random_kept() -> Iterator[None]:
    """Put back, at the end, the number of threads and the states of the global generators.

    These are the process's, so that a run which another thread begins waits for the end of this one.
    """
    with _ONE_AT_A_TIME, generators_kept(), threads_kept():
        yield


@contextmanager
def generators_kept() -> Iterator[None]:
    """Put back the states of the global generators, those of all GPUs where they are in use.

    Where they are not yet, asking for their states would start CUDA, for a run on the CPU, too. A GPU's generator then
    begins with the seed of the CPU's, as it would have.
    """
    if torch.cuda.is_initialized():
        with random_kept(range(torch.cuda.device_count())):
            yield
        return
    try:
        with random_kept():
            yield
    finally:
        torch.cuda.manual_seed_all(torch.initial_seed())


@contextmanager
def packing_not_warned_of() -> Iterator[None]:
    """Leave out torch's warning that a GPU packs a recurrent network's weights: a scheme makes them at every call."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous")
        yield


@contextmanager
def float32_products(rounded: bool) -> Iterator[None]:
    """Have matrix products and convolutions of float32 rounded to TF32 on a GPU, or computed in float32 anywhere.

    torch rounds a GPU's convolutions unless it is told otherwise, and what the caller has set may round products, those
    of a CPU, too. Of torch's two ways to say so the old one comes first: it overwrites what the new one holds.
    """
    before = [(kind, kind.fp32_precision) for kind in (*_on_gpu(), *_on_cpu())]
    convolutions, products = _rounded_before()
    try:
        _round(rounded, "high" if rounded else "highest")
        _set_each((kind, "tf32" if rounded else "ieee") for kind in _on_gpu())
        _set_each((kind, "ieee") for kind in _on_cpu())
        yield
    finally:
        _round(convolutions, products)
        _set_each(before)


def _on_gpu() -> tuple[Any, ...]:
    backends: Any = torch.backends
    return backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn


def _on_cpu() -> tuple[Any, ...]:
    backends: Any = torch.backends
    return backends.mkldnn.matmul, backends.mkldnn.conv, backends.mkldnn.rnn


@contextmanager
def _unwarned() -> Iterator[None]:
    """PyTorch 2.9 warns of its old settings, without which the new ones contradict them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Please use the new API settings")
        yield


@_unwarned()
def _rounded_before() -> tuple[bool, str]:
    """Return what torch's old settings hold; each as it is imported where the new ones contradict it.

    PyTorch 2.9 says that the first of them is contradicted before anybody has set anything.
    """
    return (
        _read(lambda: torch.backends.cudnn.allow_tf32, usual=True),
        _read(torch.get_float32_matmul_precision, usual="highest"),
    )


def _read(setting: Callable[[], T], usual: T) -> T:
    try:
        return setting()
    except RuntimeError:
        return usual


@_unwarned()
def _round(convolutions: bool, products: str) -> None:
    torch.backends.cudnn.allow_tf32 = convolutions
    torch.set_float32_matmul_precision(products)


def _set_each(precisions: Iterable[tuple[Any, str]]) -> None:
    for kind, precision in precisions:
        kind.fp32_precision = precision


@contextmanager
def modes_of_torch() -> Iterator[None]:
    """Have torch as it is when it is imported, whatever the caller has set or is inside of.

    Another default type, no_grad or the meta device would end a run in an error, and autocast would train it in half
    precision under the name of a run in full.
    """
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        stack.callback(torch.set_default_dtype, dtype)
        torch.set_default_dtype(torch.float32)
        stack.enter_context(gradients_and_full_precision())
        stack.enter_context(torch.enable_grad())
        stack.enter_context(made_on_cpu())
        yield


@contextmanager
def large_blocks_kept() -> Iterator[None]:
    """Have glibc keep freed memory: otherwise it returns every large tensor to the kernel, every step.

    glibc cannot be asked for its settings: at the end they are its defaults, and what is free goes back to the system.
    """
    if not _set_allocator(mmap_max=0, trim_threshold=2**31 - 1):
        yield
        return
    try:
        yield
    finally:
        _set_allocator(mmap_max=65536, trim_threshold=2**17)
        ctypes.CDLL("libc.so.6").malloc_trim(0)


_allocator_is_set = False  # a block inside another leaves the setting to the outer one


def _set_allocator(mmap_max: int, trim_threshold: int) -> bool:
    """Set glibc's allocator, and tell whether this changed anything; with another C library only speed is lost."""
    global _allocator_is_set
    wanted = mmap_max == 0
    if wanted == _allocator_is_set or not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-4, mmap_max)  # M_MMAP_MAX and M_TRIM_THRESHOLD of <malloc.h>
        libc.mallopt(-1, trim_threshold)
    except (OSError, AttributeError):
        return False
    _allocator_is_set = wanted
    return True


@contextmanager
def denormals_flushed() -> Iterator[None]:
    """Let numbers below 1e-38 be 0: a processor takes many times as long over them (vanishing gradients hold many)."""
    for kind in (np.float32, np.float64):
        np.finfo(kind)  # before NumPy 2.4 the first call looks at denormals, and warns where there are none
    before = float(torch.tensor(1e-39) * 1.0) == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@contextmanager
def compiler_left_out() -> Iterator[None]:
    """Spare a run the import of torch's compiler, which takes as long as all of torch.

    torch.optim's methods exempt themselves from compilation at their first call, and import the compiler to do so.
    No optimizer is compiled here: each method is entered as its own exemption. Where a version of torch does this
    otherwise, nothing happens.
    """
    found = [getattr(getattr(Optimizer, name, None), "__wrapped__", None) for name in _WITHOUT_COMPILER]
    exempted = [method for method in found if method is not None and not hasattr(method, "__dynamo_disable")]
    for method in exempted:
        setattr(method, "__dynamo_disable", method)
    try:
        yield
    finally:
        for method in exempted:
            if vars(method).get("__dynamo_disable") is method:
                delattr(method, "__dynamo_disable")


@contextmanager
def compiler_set() -> Iterator[None]:
    """Let torch's compiler trace calls of `backward`, and compile for as many shapes as there are.

    Settings that this version of it does not know are left out. Where layers alone are compiled it looks at the
    gradient of what enters them, and torch warns of its own look.
    """
    from torch._dynamo import config

    before = {name: getattr(config, name) for name in COMPILER if hasattr(config, name)}
    for name in before:
        setattr(config, name, COMPILER[name])
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The .grad attribute of a Tensor")
            warnings.filterwarnings("ignore", "TensorFloat32 tensor cores")  # who wants them says precision=tf32
            yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


def optimizer_step(optimizer: Optimizer) -> Callable[[], object]:
    """Return the optimizer's `step`, without torch's wrappers around it where nobody has registered a hook.

    The wrappers run hooks and a profiler's record, and import torch's compiler at their first call. Somebody's hooks,
    of this optimizer or of all, and a running profiler get the ordinary step; so does an optimizer of the user's own,
    whose step may have decorators that are to be kept.
    """
    ours = type(optimizer).__module__.startswith(("torch.optim.", "normexp."))
    if not settings_wanted() or _observed(optimizer) or not ours or "step" in vars(optimizer):
        return optimizer.step
    bare = inspect.unwrap(type(optimizer).step)

    def step() -> object:
        with torch.no_grad():
            return bare(optimizer)

    return step


def _observed(optimizer: Optimizer) -> bool:
    of_all = [getattr(_torch, f"_global_optimizer_{when}_hooks", {}) for when in ("pre", "post")]
    own = [getattr(optimizer, f"_optimizer_step_{when}_hooks", {}) for when in ("pre", "post")]
    return any(map(bool, (*of_all, *own))) or torch.autograd.profiler._is_profiler_enabled
