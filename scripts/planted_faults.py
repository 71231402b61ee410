"""Networks of torchvision and timm with one fault planted in each: is the fault named, and its layer?

`python scripts/planted_faults.py` measures all of it and writes the table of docs/diagnose.md; with names of
networks behind it, these rows alone.
"""

import copy
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from networks import build
from torch import nn

from normexp.diagnosis.diagnose import Examination
from normexp.diagnosis.finding import FAULT
from normexp.diagnosis.normalizations import keeps_statistics, normalizations
from normexp.diagnosis.repair import recalibrate, to_groups

PAGE = Path(__file__).resolve().parent.parent / "docs" / "diagnose.md"
TABLE = re.compile(r"(?<=<!-- planted -->\n).*?(?=<!-- /planted -->)", re.DOTALL)
NETWORKS = """
torchvision resnet18, torchvision resnext50_32x4d, torchvision vgg11_bn, torchvision densenet121, torchvision googlenet,
torchvision mobilenet_v2, torchvision shufflenet_v2_x0_5, torchvision mnasnet0_5, torchvision regnet_x_400mf,
torchvision efficientnet_b0, timm test_resnet, timm test_efficientnet, timm test_byobnet, timm resnet10t,
timm resnet26d, timm regnetx_002, timm mobilenetv2_050, timm vovnet39a, timm dla34, timm repvgg_a0
"""
NAMES = [" ".join(name.split()) for name in NETWORKS.split(",")]
EXAMPLES, BATCHES, PIXELS = 32, 2, 32


def shifted(module: Any) -> None:
    module.running_mean += 3 * module.running_var.sqrt()


def widened(module: Any) -> None:
    module.running_var *= 20


def reset(module: Any) -> None:
    module.reset_running_stats()


def interrupted(module: Any) -> None:
    """Let the estimates be those after three batches at a momentum of 0.1, of values that are far from 0."""
    remains = (1 - module.momentum) ** 3
    module.running_mean *= 1 - remains
    module.running_var.mul_(1 - remains).add_(remains)
    module.num_batches_tracked.fill_(3)


def broken(module: Any) -> None:
    module.running_var[0] = float("nan")


def left_in_training(module: Any) -> None:
    module.train()


def untracked(module: Any) -> None:
    module.track_running_stats, module.running_mean, module.running_var = False, None, None


FAULTS: dict[
    str, tuple[Callable[[Any], None], tuple[str, ...]]
] = {  # fault -> how it is planted, what it may be called
    "mean off": (shifted, ("stale",)),
    "variance off": (widened, ("stale",)),
    "reset": (reset, ("never updated",)),
    "three batches": (interrupted, ("undersampled",)),
    "NaN": (broken, ("not finite",)),
    "in train()": (left_in_training, ("mode",)),
    "no estimates": (untracked, ("batch in evaluation",)),
}


def healthy(name: str) -> tuple[nn.Module, list[torch.Tensor]]:
    """Return an untrained network in eval() with exact estimates, and the batches they are of."""
    torch.manual_seed(0)
    model = build(name)
    inputs = [1 + torch.randn(EXAMPLES, 3, PIXELS, PIXELS) for _ in range(BATCHES)]
    return recalibrate(model, inputs).eval(), inputs


def sick_layer(model: nn.Module) -> str:
    """Return the path of the normalization whose statistics are furthest from those of a new one, 0 and 1."""
    kept: dict[str, Any] = {path: each for path, each in normalizations(model).items() if keeps_statistics(each)}
    return max(kept, key=lambda path: float(kept[path].running_var.log().square().mean()))


def found(model: nn.Module, inputs: list[torch.Tensor]) -> set[tuple[str, str]]:
    """Return {(kind, layer)} of the faults."""
    return {(each.kind, each.layer) for each in Examination(model, inputs).findings() if each.level == FAULT}


def verdict(model: nn.Module, inputs: list[torch.Tensor], fault: str) -> str:
    """Plant a fault in a copy of a healthy network; return `found`, or what is named instead."""
    sick, layer, (plant, kinds) = copy.deepcopy(model), sick_layer(model), FAULTS[fault]
    with torch.no_grad():
        plant(sick.get_submodule(layer))
    named = found(sick, inputs)
    return "found" if named and all(kind in kinds and where == layer for kind, where in named) else listed(named)


def listed(named: set[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} ({layer})" for kind, layer in sorted(named)) or "nothing"


def row(name: str) -> list[str]:
    """Return what is found in a network without a fault, with each, and with group normalization instead."""
    model, inputs = healthy(name)
    planted = [verdict(model, inputs, fault) for fault in FAULTS]
    return [listed(found(model, inputs)), *planted, listed(found(to_groups(model), inputs))]


def main(names: Sequence[str]) -> None:
    """Measure networks, by default all, and write each row as soon as it is there; rows of others stay."""
    torch.set_num_threads(1)
    for name in names or NAMES:
        write(name, f"| {name} | {' | '.join(row(name))} |")


def write(name: str, line: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found_rows = TABLE.search(page)
    rows = {text.split(" | ")[0][2:]: text for text in found_rows[0].splitlines()[2:]} if found_rows else {}
    heads = ["network", "no fault", *FAULTS, "convert=group"]
    rows[name] = line
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *(rows[each] for each in NAMES if each in rows)]
    PAGE.write_text(TABLE.sub(lambda _: "\n".join(lines) + "\n", page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
