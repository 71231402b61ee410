"""Everything a killed run needs to go on to the same bytes, in one safetensors file, written atomically."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.errors import UserError
from normexp.records import write_atomically


def write_checkpoint(
    path: Path, model: nn.Module, optimizer: Optimizer, window: dict[str, Tensor], **facts: Any
) -> None:
    """Save weights, buffers, optimizer state, random states, the window's tensors, and `facts` (plain JSON)."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    for place, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{place}/{name}": value for name, value in state.items() if value is not None}
    tensors |= {f"window/{name}": tensor for name, tensor in window.items()}
    tensors |= {f"random/{name}": state for name, state in _random_states().items()}
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    described = json.dumps({**facts, "sha256": _digest(plain, facts)}, sort_keys=True)
    # One metadata entry: with several, safetensors writes them in an order that changes from run to run.
    write_atomically(path, save(plain, metadata={"facts": described}))


def read_checkpoint(path: Path, model: nn.Module, optimizer: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Restore model, optimizer and random states in place; return the window's tensors and the facts.

    Raises: UserError if the file is damaged or belongs to another network.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            facts: dict[str, Any] = json.loads(file.metadata()["facts"])
        if facts.pop("sha256", None) not in (None, _digest(tensors, facts)):  # None: of an older version
            raise ValueError("its sha256 is another one")
        with torch.no_grad():
            _restore_model(model, _part(tensors, "model"))
            _restore_optimizer(optimizer, _part(tensors, "optimizer"))
        _set_random_states(_part(tensors, "random"))
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: damaged checkpoint ({type(error).__name__}: {reason})") from None
    return _part(tensors, "window"), facts


def _digest(tensors: dict[str, Tensor], facts: dict[str, Any]) -> str:
    """Return the SHA-256 of names, types, shapes and bytes of all tensors, and of the facts."""
    found = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(f"{prefix}/"): tensor for n, tensor in tensors.items() if n.startswith(f"{prefix}/")}


def _restore_model(model: nn.Module, saved: dict[str, Tensor]) -> None:
    model.load_state_dict(saved)  # copies into the tensors that are there: memory formats stay


def _restore_optimizer(optimizer: Optimizer, saved: dict[str, Tensor]) -> None:
    """Load the optimizer's state with each tensor in its parameter's own memory format."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in saved.items():
        place, _, key = name.partition("/")
        parameter = parameters[int(place)]
        like = tensor if tensor.shape != parameter.shape else torch.empty_like(parameter).copy_(tensor)
        state.setdefault(int(place), {})[key] = like
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _set_random_states(states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
