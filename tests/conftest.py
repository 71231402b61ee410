"""Fixtures of all tests: a cache folder and a results folder of their own, few threads, the command line."""

import atexit
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Cli = Callable[..., tuple[int, str, str]]
THREADS = int(os.environ.get("OMP_NUM_THREADS") or 1)  # several processes test at once


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage, which takes a third of the time: what is imported stays anyway.

    Tests look for it seldom: with Python's own limits that takes up to an eighth of their time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


# The interpreter clears away what was frozen: a compiler counts, at length, what it takes for leaks. At the very end:
# pytest looks for garbage when its session ends.
atexit.register(gc.unfreeze)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    """Never touch the user's cache of data sets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NORMEXP_DATA", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk():
    """No test here loses power: that files are flushed is tested, but nobody waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_threads():
    import torch

    from normexp.training.process import compiler_left_out

    torch.set_num_threads(THREADS)
    with compiler_left_out():  # it takes seconds to import
        yield


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    """What a test draws from the global generators does not hang on the tests before it."""
    from normexp.seeding import seed_all

    seed_all(0)


@pytest.fixture(autouse=True)
def _what_is_imported_stays_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test imports from its folder is found by no later one, which may have a file of the same name."""
    path, known = [*sys.path], set(sys.modules)
    yield
    sys.path[:] = path
    folder = str(tmp_path_factory.getbasetemp())
    for name in set(sys.modules) - known:
        if folder in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the command line end without table and curves, which take longer to make than a few steps."""
    monkeypatch.setattr("normexp.report.commands.closing.compare", lambda run: "")


@pytest.fixture
def workers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers of sweeps are of this process."""
    from in_process import InProcess

    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder that does not exist yet."""
    return tmp_path / "results"


def _last_of_each_key(words: list[str]) -> list[str]:
    """Let a test put `steps=5` after its usual words: the command line itself refuses a key given twice."""
    last = {word.partition("=")[0]: place for place, word in enumerate(words) if "=" in word and word[0] != "-"}
    return [word for place, word in enumerate(words) if last.get(word.partition("=")[0], place) == place]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """Call the command line in this process: cli("run", "norm=batch") -> (exit status, stdout, stderr)."""
    from normexp.cli.verbs import main

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        try:
            status = main(_last_of_each_key([str(argument) for argument in arguments]))
        except SystemExit as stopped:  # --help and --version
            status = int(stopped.code or 0)
        return status, *capfd.readouterr()

    return call
