"""The fixtures of report tests: made-up run directories below a temporary folder."""

from pathlib import Path

import pytest
from drawn import Made
from fabricated import Fabric
from figure_kinds import full


@pytest.fixture
def fabricate(tmp_path: Path) -> Fabric:
    return Fabric(tmp_path / "results")


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Runs of two arms, from which every kind of figure can be drawn."""
    return full(Fabric(tmp_path_factory.mktemp("two")), grid={"seed": [0, 1, 2], "batch_size": [8, 16]})
