"""Fabricated run directories, small and sound."""

from collections.abc import Callable
from pathlib import Path

import pytest

from normexp.records import RunDirectory

CONFIG = "# normexp run optim.lr=0.1 'model.widths=[8]'\nseed: 0\n_choices_:\n  norm: batch\n_changes_:\n  seed: 0\n"
Make = Callable[..., RunDirectory]


@pytest.fixture
def make() -> Make:
    """Write a run directory: make(path, status="done", loss=0.5, sums=True)."""

    def write(path: Path, status: str = "done", loss: float = 0.5, sums: bool = True) -> RunDirectory:
        run = RunDirectory(path)
        path.mkdir(parents=True)
        (path / "config.yaml").write_text(CONFIG)
        (path / "metrics.csv").write_text(f"step,test/loss\n0,1.0\n5,{loss}\n")
        (path / "checkpoint.safetensors").write_bytes(b"weights")
        run.write_environment({"commit": "abc", "data": {"note": "digits"}})
        finished = sums and status in ("done", "diverged")
        (run.finish if finished else run.write_status)(status, step=5, steps=5)
        return run

    return write


@pytest.fixture
def experiment(tmp_path: Path, make: Make) -> Path:
    """A folder NAME/SCALE with four finished runs in two arms, one of a selection, and one that is not finished."""
    folder = tmp_path / "results" / "figure" / "cpu"
    for arm in ("batch", "none"):
        for seed in (0, 1):
            make(folder / "runs" / arm / f"seed={seed}", loss=seed + 0.25)
    make(folder / "select" / "batch" / "seed=100")
    make(folder / "runs" / "none" / "seed=2", status="interrupted")
    return folder
