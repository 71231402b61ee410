"""The fixture of all report tests: made-up run directories below a temporary folder."""

from pathlib import Path

import pytest
from fabricated import Fabric


@pytest.fixture
def fabricate(tmp_path: Path) -> Fabric:
    return Fabric(tmp_path / "results")
