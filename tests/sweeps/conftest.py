"""Sweeps whose workers are of this process, and a scheme that fails."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bombs import BOMB
from tiny_sweeps import TINY


@pytest.fixture
def sweep(cli, results, workers_here) -> Callable[..., tuple[int, str]]:
    """Run `normexp sweep` with its workers in this process: sweep("seed=0,1") -> (exit status, stderr)."""

    def call(*arguments: str, verb: tuple[str, ...] = ("sweep",), place: Path = results) -> tuple[int, str]:
        status, _, stderr = cli(*verb, *TINY, f"results_dir={place}", "jobs=1", *arguments)
        return status, stderr

    return call


@pytest.fixture
def bomb(tmp_path, monkeypatch) -> Path:
    """A folder with a scheme of the user's own that raises in training step `norm.at`."""
    (tmp_path / "bomb.py").write_text(BOMB)
    monkeypatch.chdir(tmp_path)
    return tmp_path
