"""`normexp diagnose`: a network of the user's own, from MODULE:FUNCTION."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.cli.streams import print_answer, prints_beside_answer
from normexp.config.text import shortened
from normexp.diagnosis.settings import broken_range
from normexp.errors import UserError, first_line, kind_and_line, kind_of, line_in, nearest_path, unknown
from normexp.records import plain_json, write_atomically
from normexp.records.files import make_folder

if TYPE_CHECKING:
    from torch import nn

    from normexp.diagnosis.finding import Diagnosis

FIXES = ("recalibrate", "convert=group")
NEEDS = {"weight_decay": "lr", "momentum": "weight_decay"}  # what is computed from each needs another, too
WEIGHTS = ".safetensors"
READ_IT = "; give a function that reads it; of a folder of a run, normexp.load_model(FOLDER) returns the network"
NPY = b"\x93NUMPY"  # begins every .npy file


def diagnose(arguments: argparse.Namespace) -> int:
    """Print the diagnosis, of the repaired network where there is a repair; 1 if it has faults."""
    _check(arguments)
    with prints_beside_answer():
        found = _found(arguments)
    print_answer(plain_json(found.as_json()) if arguments.json else f"{found}\n", arguments.json)
    return 1 if found.faults else 0


def _found(arguments: argparse.Namespace) -> Diagnosis:
    model, data = _network(arguments.network, arguments.data)
    from normexp.diagnosis.diagnose import diagnose

    if arguments.fix:
        model = _repaired(model, data, arguments.fix, Path(arguments.out))
    return diagnose(model, data, _settings(arguments))


def _check(arguments: argparse.Namespace) -> None:
    if arguments.fix is not None and arguments.fix not in FIXES:
        raise unknown("diagnose: --fix", arguments.fix, FIXES)
    if (arguments.fix is None) != (arguments.out is None):
        raise UserError("diagnose: --fix FIX and --out FILE.safetensors go together")
    if arguments.out is not None:
        from normexp.runs.run import check_writable

        check_writable(Path(arguments.out).parent, "--out")
        _check_out(Path(arguments.out))
    for name, value in _settings(arguments).items():
        if problem := broken_range(name, value):
            raise UserError(f"diagnose: {_flag(name)} {value:g}: {problem}")
    for name, needed in NEEDS.items():
        if (value := getattr(arguments, name)) is not None and getattr(arguments, needed) is None:
            raise UserError(f"diagnose: {_flag(name)} {value:g}: goes with {_flag(needed)}; alone it changes nothing")


def _check_out(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"diagnose: --out {path}: is a folder; give FILE{WEIGHTS}")
    if path.suffix != WEIGHTS:
        raise UserError(f"diagnose: --out {path}: is written as {WEIGHTS[1:]}; give FILE{WEIGHTS}")
    if os.path.lexists(path):
        raise UserError(f"diagnose: --out {path}: is there already; give another FILE{WEIGHTS}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _settings(arguments: argparse.Namespace) -> dict[str, float]:
    given = {"lr": arguments.lr, "momentum": arguments.momentum, "weight_decay": arguments.weight_decay}
    return {name: value for name, value in given.items() if value is not None}


def _network(name: str, data: str | None) -> tuple[nn.Module, Any]:
    """Return the network and its data. Raises UserError where there is no such function, or it returns none."""
    from torch import nn

    made = _called(name)
    model, own = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(model, nn.Module):
        raise UserError(f"{name}: returns a {kind_of(model)}; a torch.nn.Module is needed, or (module, data)")
    given = own if data is None else _data(data)
    if given is None and data is not None:
        raise UserError(f"{data}: returns no data; a batch or a loader is needed")
    if given is None:
        raise UserError(f"{name}: returns no data; give DATA, MODULE:FUNCTION of a batch or loader, or a .npy file")
    return model, given


def _data(name: str) -> Any:
    if not name.endswith(".npy"):
        return _called(name)
    import numpy as np
    import torch

    path = Path(name)
    if not path.is_file():  # a pipe would be waited for
        raise UserError(f"{name}: is no regular file" if path.exists() else f"{name}: no such file{nearest_path(path)}")
    try:
        with path.open("rb") as file:
            if not file.read(len(NPY)).startswith(NPY):
                raise ValueError("it does not begin as a .npy file does")
        array = np.load(name, allow_pickle=False)
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))  # another machine's, too
    except (OSError, ValueError, TypeError, EOFError, MemoryError) as error:
        raise UserError(f"{name}: cannot be read as an array ({first_line(error)})") from None


def _meant(name: str) -> str:
    from normexp.config.hints import torchvision_names

    module, dot, function = name.rpartition(".")
    if os.path.isfile(path := name.partition(":")[0]) and path.endswith(".py"):
        here = os.path.dirname(path) in ("", ".")
        named = f"{Path(path).stem}:FUNCTION"
        return f"; did you mean {named}?" if here else f"; go to the folder of {shortened(path)}, and give {named}"
    if os.path.exists(path):
        return READ_IT
    if name in torchvision_names():
        return f"; did you mean torchvision.models:{name}?"
    return (
        f"; did you mean {module}:{function}?"
        if dot and module and function.isidentifier() and function != "py"
        else ""
    )


def _called(name: str) -> Any:
    """Call MODULE:FUNCTION; modules in the current folder are found. Raises UserError, also for what it raises."""
    from normexp.config.instantiate import locate
    from normexp.training.network import check_not_built

    module, _, function = name.removeprefix("./").partition(":")
    module = module.removesuffix(".py").replace("/", ".")
    if not all(part.isidentifier() for part in [*module.split("."), function]):
        raise UserError(f"{shortened(name)!r}: is not MODULE:FUNCTION, as in my_nets:resnet{_meant(name)}")
    found = locate(f"{module}.{function}", [module])
    check_not_built(name, found)
    if not callable(found):
        raise UserError(f"{name}: is no function")
    try:
        return found()
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"{name}: failed ({kind_and_line(error)}{line_in(error, module)}); --debug shows where"
        ) from error


def _repaired(model: nn.Module, data: Any, fix: str, out: Path) -> nn.Module:
    """Repair the network and write its state. Raises UserError where it cannot be done; nothing is written then."""
    from normexp.diagnosis.repair import FIXES as REPAIRS

    if not isinstance(data, list | tuple) and iter(data) is data:
        data = list(data)  # the diagnosis looks at it once more
    try:
        repaired = REPAIRS[fix](model, data)
    except UserError as error:
        raise UserError(f"--fix {fix}: {error}") from None
    state = _state(repaired)
    make_folder(out.parent)
    write_atomically(out, state)
    return repaired


def _state(model: nn.Module) -> bytes:
    """Return a network's state as safetensors, by every name, as a checkpoint has it."""
    from safetensors.torch import save

    from normexp.runs.checkpoint import apart

    return bytes(save(apart(model.state_dict())))
