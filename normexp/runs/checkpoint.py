"""Everything a killed run needs to go on to the same bytes, in one safetensors file, written atomically."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.errors import kind_and_line, whose_memory
from normexp.records import Damaged, damaged, json_object, read_regular, write_atomically
from normexp.records.files import open_regular, reading
from normexp.runs.checkpoint_form import check_entries
from normexp.runs.known_curves import check_curves
from normexp.runs.optimizer_state import as_kept, as_tensor, kinds_by_parameter, late_kind
from normexp.seeding import random_states, set_random_states

MOST_TIMES = 8  # the weights: themselves, and what an optimizer keeps of each
MOST_BESIDE = 2**28  # bytes: losses since the last evaluation, random states, names
STRANGE = (SafetensorError, FileNotFoundError, LookupError, ValueError, RuntimeError, TypeError, AttributeError)


def write_checkpoint(
    path: Path, model: nn.Module, optimizer: Optimizer, window: dict[str, Tensor], **facts: Any
) -> None:
    """Save weights, buffers, optimizer state, random states, the window's tensors, and `facts` (plain JSON)."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{name}": as_tensor(value) for name, value in state.items() if value is not None}
    tensors |= {f"window/{name}": tensor for name, tensor in window.items()}
    tensors |= {f"random/{name}": state for name, state in random_states().items()}
    plain = apart(tensors)
    described = json.dumps({**facts, "sha256": _digest(plain, facts)}, sort_keys=True)
    # One metadata entry: with several, safetensors writes them in an order that changes from run to run.
    write_atomically(path, save(plain, metadata={"facts": described}))


def apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors with each in memory of its own: safetensors refuses tied weights, and views of one tensor.

    A network ties its weights when it is built; loading copies the same numbers into it by each of their names.
    """
    seen, found = set[int](), dict[str, Tensor]()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        place = plain.untyped_storage().data_ptr()
        found[name] = plain.clone() if place in seen else plain
        seen.add(place)
    return found


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read.

    Args:
        tensors: by `PART/NAME`; the parts are model, optimizer, window and random.
        facts: plain values.
    """

    tensors: dict[str, Tensor]
    facts: dict[str, Any]

    def part(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of a part by their names in it."""
        return {n.removeprefix(f"{name}/"): each for n, each in self.tensors.items() if n.startswith(f"{name}/")}

    def restore(self, model: nn.Module, optimizer: Optimizer) -> None:
        """Put everything back in place."""
        with torch.no_grad():
            model.load_state_dict(self.part("model"))  # copies into the tensors that are there: memory formats stay
            _restore_optimizer(optimizer, self.part("optimizer"))
        set_random_states(self.part("random"))


def load_checkpoint(path: Path, model: nn.Module, optimizer: Optimizer) -> Checkpoint:
    """Read a checkpoint and hold it to the network that it is for; nothing is changed yet.

    Raises: Damaged if the file is no regular file, larger than the network can need, damaged, or has entries that are
        unknown, missing or of another shape.
    """
    with _damage_named(path):
        checkpoint = _read(path, model)
        check_entries(checkpoint.tensors, model, optimizer)
    return checkpoint


def read_weights(path: Path, model: nn.Module) -> dict[str, Tensor]:
    """Return the network's part of a checkpoint.

    Raises: Damaged as `load_checkpoint` does, but for the entries; where the curves beside it are of another run.
    """
    with _damage_named(path):
        checkpoint = _read(path, model)
        check_curves(path.parent, checkpoint.facts.get("curves", {}))
    return checkpoint.part("model")


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Raise as Damaged whatever goes wrong when strange bytes are read, but for too little memory."""
    try:
        yield
    except STRANGE as error:
        if whose_memory(error):
            raise
        raise damaged(path, kind_and_line(error)) from None


def _read(path: Path, model: nn.Module) -> Checkpoint:
    """Return a file's content. Raises ValueError where it does not have its checksum."""
    size = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    data = read_regular(path, MOST_BESIDE + MOST_TIMES * size)
    checkpoint = Checkpoint(load(data), _facts(data))
    facts = checkpoint.facts
    if facts.pop("sha256", None) not in (None, _digest(checkpoint.tensors, facts)):  # None: of an older version
        raise ValueError("its sha256 is another one")
    return checkpoint


def step_of(path: Path) -> int | None:
    """Return how far the run of a checkpoint was; None where there is none, or a damaged one. Raises Unreadable."""
    try:
        with os.fdopen(open_regular(path), "rb") as file, reading(path):
            size = int.from_bytes(head := file.read(8), "little")
            return int(_facts(head + file.read(min(size, MOST_BESIDE)))["step"])
    except (FileNotFoundError, Damaged, KeyError, ValueError, TypeError):
        return None


def _facts(data: bytes) -> dict[str, Any]:
    """Return the facts in the header of safetensors bytes: eight bytes of length, then JSON."""
    header = json_object(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json_object(header["__metadata__"]["facts"].encode())


def _digest(tensors: dict[str, Tensor], facts: dict[str, Any]) -> str:
    """Return the SHA-256 of names, types, shapes and bytes of all tensors, and of the facts."""
    found = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _restore_optimizer(optimizer: Optimizer, saved: dict[str, Tensor]) -> None:
    """Load the optimizer's state with each tensor of its own type, in its parameter's own memory format."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    kinds = kinds_by_parameter(optimizer)
    for name, tensor in saved.items():
        index, _, key = name.partition("/")
        parameter = parameters[int(index)]
        same = tensor.shape == parameter.shape
        like = torch.empty_like(parameter, dtype=tensor.dtype).copy_(tensor) if same else tensor
        state.setdefault(int(index), {})[key] = as_kept(like, kinds[int(index)].get(key, late_kind(tensor)).type)
    _load_state(optimizer, parameters, state)


def _load_state(optimizer: Optimizer, parameters: Sequence[Tensor], state: Mapping[int, dict[str, Any]]) -> None:
    """Load what is kept of each parameter, and undo that torch rounds it to the parameter's type."""
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    for place, kept in state.items():
        loaded = optimizer.state[parameters[place]]
        for key, value in kept.items():
            if isinstance(value, Tensor) and value.dtype != loaded[key].dtype:
                loaded[key] = value.to(loaded[key].device)
