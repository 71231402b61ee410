"""Weights that one of torchvision's networks was trained to, where they are at hand."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from normexp.errors import UserError, did_you_mean, nearest


def load_pretrained(network: nn.Module, name: str, weights: str, options: dict[str, Any], num_outputs: int) -> None:
    """Load trained weights into a network of torchvision; its output layer keeps its own where the classes are others.

    Nothing is downloaded: the file is looked for where torchvision leaves it, in torch's own cache, and must have the
    sha256 that is in its name.

    Args:
        name: of the network, resnet18 for instance.
        weights: torchvision's name for them, IMAGENET1K_V1 for instance; not DEFAULT, which changes with the version.
        options: what the network was built with, besides its classes.

    Raises: UserError where there are no such weights, no such file, or the network is not the one they belong to.
    """
    trained = _read(_file(name, weights), f"model.weights={weights}")
    head = _decided_by_classes(name, options, num_outputs)
    state = network.state_dict()
    for key, value in state.items():
        if key not in head and (key not in trained or trained[key].shape != value.shape):
            raise UserError(f"model.weights={weights}: {key} of model.name={name} has another shape for these images")
    kept = {key: value for key, value in trained.items() if key in state and state[key].shape == value.shape}
    network.load_state_dict(kept, strict=False)


def _file(name: str, weights: str) -> Path:
    from torchvision import models

    known = models.get_model_weights(name).__members__
    names = [member for member in known if member != "DEFAULT"]
    if weights not in names:
        allowed = ", ".join(names) or "none"
        raise UserError(
            f"model.weights={weights} does not exist for model.name={name}; allowed: {allowed}"
            f"{did_you_mean(nearest(weights, names))}"
        )
    path = Path(torch.hub.get_dir()) / "checkpoints" / known[weights].url.rpartition("/")[2]
    if not path.is_file():
        raise UserError(
            f"model.weights={weights}: {path} is not there; torchvision downloads it on a machine with network"
        )
    return path


def _read(path: Path, key: str) -> dict[str, Tensor]:
    digest = path.stem.rpartition("-")[2]
    with path.open("rb") as file:
        if not hashlib.file_digest(file, "sha256").hexdigest().startswith(digest):
            raise UserError(f"{key}: {path} is damaged, its sha256 does not begin with {digest}")
    state: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def _decided_by_classes(name: str, options: dict[str, Any], num_outputs: int) -> set[str]:
    """Return the names of the tensors whose shape follows from the number of classes."""
    from torchvision import models

    with torch.device("meta"):
        published = models.get_model(name, weights=None, **options).state_dict()
        ours = models.get_model(name, weights=None, num_classes=num_outputs, **options).state_dict()
    return {key for key, value in ours.items() if published[key].shape != value.shape}
