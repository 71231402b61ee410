"""An experiment from what its YAML would say, as if it stood among ours."""

from collections.abc import Mapping
from typing import Any

from normexp.config import config_dir
from normexp.experiments import load
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment


def parse(name: str, scale: str, data: Mapping[str, Any]) -> Experiment:
    """Return a checked experiment. Raises UserError, which names the first line of a file that is not there."""
    return load.parse(Document(name, config_dir() / "experiment" / f"{name}.yaml", ""), scale, data)
