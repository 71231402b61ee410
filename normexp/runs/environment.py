"""What environment.json says of a run: machine, versions, precision, size and data."""

from __future__ import annotations

from typing import Any

import torch

from normexp.config import Config
from normexp.data.base import Data
from normexp.runs.own_code import own_code
from normexp.training.components import Components
from normexp.training.machine.hardware import describe


def environment(config: Config, data: Data, components: Components) -> dict[str, Any]:
    """Return the facts about a run that is about to train."""
    sizes = {name: len(examples) for name, examples in components.evaluated.items()}
    return {
        **describe(components.device, torch.get_num_threads()),
        "precision": config["precision"],
        "parameters": sum(parameter.numel() for parameter in components.model.parameters()),
        **own_code(config),
        "data": {
            **about_data(config, data),
            **_shapes(data),
            "examples": {"train": len(components.batches.examples), **sizes},
        },
    }


def _shapes(data: Data) -> dict[str, Any]:
    """Return what a network is built for: with it a record gives its network back where the data are not."""
    return {"input_shape": list(data.input_shape), "num_outputs": data.num_outputs}


def about_data(config: Config, data: Data) -> dict[str, Any]:
    """Return what a record says of the data of a run or a study."""
    return {"note": data.note, "sha256": data.fingerprint, "content": config.content}
