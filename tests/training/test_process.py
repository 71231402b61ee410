"""What a run changes in its process, and that nothing of it is left."""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from normexp.config import compose
from normexp.records import CHECKPOINT, METRICS
from normexp.runs.python import load_model
from normexp.runs.run import run
from normexp.studies.base import StudyContext
from normexp.training import process
from normexp.training.build import build
from normexp.training.process import optimizer_step, process_settings

TINY = ("model=linear", "batch_size=32", "steps=3", "device=cpu", "threads=2")
STUDY = ("study=running_statistics", "model=mlp", "norm=batch", "steps=2", "batch_size=32", "threads=2")


def flushes_denormals() -> bool:
    return float(torch.tensor(1e-39, dtype=torch.float32, device="cpu") * 1.0) == 0.0


def state() -> dict[str, object]:
    """What somebody else's code in this process can see of torch's settings."""
    methods = [getattr(Optimizer, name).__wrapped__ for name in process._WITHOUT_COMPILER]
    hooks = vars(process._torch)
    return {
        "threads": torch.get_num_threads(),
        "between operators": torch.get_num_interop_threads(),
        "denormals": flushes_denormals(),
        "random": torch.get_rng_state().tolist(),
        "type": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "gradient": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": [torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")],
        "autocast cache": torch.is_autocast_cache_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "exempted": [hasattr(method, "__dynamo_disable") for method in methods],
        "hooks": [dict(hooks[f"_global_optimizer_{when}_hooks"]) for when in ("pre", "post")],
        "step": torch.optim.SGD.step,
        "allocator": process._allocator_is_set,
        "products": [each.fp32_precision for each in (*process._on_gpu(), *process._on_cpu())],
        "rounded": process._rounded_before(),
    }


@pytest.fixture
def untouched():
    """A process in which the settings are torch's own, and torch's compiler has not been imported for anybody."""
    torch.optim.SGD([torch.zeros(1)], lr=0.1)  # torch wraps `step` at the first instance
    methods = [getattr(Optimizer, name).__wrapped__ for name in process._WITHOUT_COMPILER]
    exempted = [method for method in methods if hasattr(method, "__dynamo_disable")]
    with pytest.MonkeyPatch.context() as patch:
        for method in exempted:
            patch.delattr(method, "__dynamo_disable")
        before = state()
        yield before
    torch.set_num_threads(before["threads"])


@pytest.mark.parametrize("overrides", [TINY, (*TINY, "optim=adam", "clip_norm=1"), STUDY], ids=["run", "adam", "study"])
def test_process_is_as_it_was_after_a_run(tmp_path, untouched, overrides):
    run(compose([*overrides, f"results_dir={tmp_path}"]))
    assert state() == untouched


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def products_in_half() -> Iterator[None]:
    """What a caller sets for speed: on some processors float32 products in bfloat16, in either of torch's ways."""
    kinds = (*process._on_gpu(), *process._on_cpu())
    before = [(kind, kind.fp32_precision) for kind in kinds]
    torch.set_float32_matmul_precision("medium")
    torch.backends.mkldnn.conv.fp32_precision = "bf16"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")
        process._set_each(before)


MODES = {
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "device": lambda: torch.device("meta"),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "products": products_in_half,
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize(
    "overrides",
    [pytest.param(TINY, id="run"), pytest.param((*TINY, "precision=bf16"), id="bf16", marks=pytest.mark.slow),
     pytest.param(STUDY, id="study", marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_run_is_the_same_in_whatever_mode_of_torch_it_is_called(tmp_path, untouched, mode, overrides):
    with mode():
        before = state()
        found = run(compose([*overrides, f"results_dir={tmp_path / 'inside'}"]))
        assert state() == before
    expected = run(compose([*overrides, f"results_dir={tmp_path / 'outside'}"]))
    assert (found.path / METRICS).read_bytes() == (expected.path / METRICS).read_bytes()
    if (found.path / CHECKPOINT).exists():
        with mode():
            model = load_model(found)
        assert {each.dtype for each in model.parameters()} == {torch.float32}
        assert all(map(torch.equal, model.parameters(), load_model(expected).parameters()))
    assert state() == untouched


def test_process_is_as_it_was_after_a_run_that_fails(tmp_path, untouched, monkeypatch):
    def fail(*_: object) -> None:
        assert state()["threads"] == 2
        raise RuntimeError

    monkeypatch.setattr("normexp.runs.trainer.evaluate", fail)
    with pytest.raises(RuntimeError):
        run(compose([*TINY, f"results_dir={tmp_path}"]))
    assert state() == untouched


def test_a_gpu_packs_recurrent_weights_without_a_word_in_a_run():
    text = "RNN module weights are not part of single contiguous chunk of memory. This means they need to be compacted"
    with process_settings():
        warnings.warn(text, stacklevel=1)
    with pytest.warns(UserWarning, match="RNN module"):
        warnings.warn(text, stacklevel=1)


def test_process_settings_hold_inside_and_only_there(untouched):
    with process_settings(), process_settings():
        inside = state()
    assert (inside["denormals"], inside["exempted"]) == (True, [True] * 4)
    assert inside["allocator"] is process.sys.platform.startswith("linux")
    assert state() == untouched


@pytest.mark.parametrize(("precision", "on_gpu"), [("fp32", "ieee"), ("bf16", "ieee"), ("tf32", "tf32")])
def test_process_computes_in_float32_what_is_said_to_be(untouched, precision, on_gpu):
    with products_in_half(), process_settings(precision=precision):
        assert state()["products"] == [on_gpu] * 3 + ["ieee"] * 3
        assert state()["rounded"] == (on_gpu == "tf32", "high" if on_gpu == "tf32" else "highest")
    assert state() == untouched


def test_process_settings_can_be_switched_off(untouched, monkeypatch):
    monkeypatch.setenv("NORMEXP_PROCESS_SETTINGS", "0")
    with process_settings():
        torch.rand(1)
        kept = {key: untouched[key] for key in ("random", "products", "rounded")}
        assert {**state(), **kept} == untouched
    assert state() == untouched


def test_process_of_somebody_who_flushes_denormals_goes_on_to(untouched):
    torch.set_flush_denormal(True)
    try:
        with process_settings():
            pass
        assert flushes_denormals()
    finally:
        torch.set_flush_denormal(False)


def test_build_sets_nothing(untouched):
    with torch.random.fork_rng():
        config = compose(["model=cnn", "norm=batch", "threads=2", "device=cpu"])
        data = StudyContext(config).data
        with process.compiler_left_out():  # as otherwise torch's compiler takes seconds
            build(config, data)
    assert state() == untouched


HOOKS: dict[str, Callable[[Optimizer, Callable[..., None]], object]] = {
    "of all optimizers, before": lambda optimizer, hook: register_optimizer_step_pre_hook(hook),
    "of all optimizers, after": lambda optimizer, hook: register_optimizer_step_post_hook(hook),
    "its own": lambda optimizer, hook: optimizer.register_step_post_hook(hook),
}


@pytest.mark.parametrize("register", HOOKS.values(), ids=HOOKS)
def test_optimizer_step_calls_the_hooks_that_somebody_has_registered(register):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    assert optimizer_step(optimizer) != optimizer.step
    calls: list[object] = []
    handle = register(optimizer, lambda *given: calls.append(given[0]))
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(handle.remove)
        optimizer_step(optimizer)()
    assert calls == [optimizer]


def test_an_optimizer_of_ones_own_keeps_what_is_around_its_step():
    def twice(method):
        @functools.wraps(method)
        def both(self, closure=None):
            method(self, closure)
            return method(self, closure)

        return both

    class Twice(torch.optim.SGD):
        step = twice(torch.optim.SGD.step)

    for optimizer in (Twice([torch.zeros(1, requires_grad=True)], lr=0.1), torch.optim.SGD([torch.zeros(1)], lr=0.1)):
        optimizer.step = optimizer.step  # patched in one object
        assert optimizer_step(optimizer) == optimizer.step
    weight = torch.zeros(1, requires_grad=True)
    weight.grad = torch.ones(1)
    optimizer_step(Twice([weight], lr=0.1))()
    assert weight.item() == pytest.approx(-0.2)


def test_allocator_setting_never_fails(monkeypatch):
    monkeypatch.setattr(process.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError()))
    with process.large_blocks_kept():
        assert process._allocator_is_set is False
