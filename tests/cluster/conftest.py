"""Fixtures of the tests on a real SLURM and a real Ray."""

import os
from pathlib import Path

import pytest
from many_machines import GRID, OWN, SLOWLY, files, normexp


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bytes]:
    """The bytes of the grid, trained by a sweep on this machine without an executor."""
    folder: Path = tmp_path_factory.mktemp("serial")
    (folder / "slowly.py").write_text(SLOWLY)
    status, _, stderr = normexp(os.environ, folder, "sweep", *GRID, *OWN, "jobs=2")
    assert status == 0, stderr
    return files(folder / "results")
