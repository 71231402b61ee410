"""Write docs/convert.md: which scheme can be put into which network, and why not where it cannot.

python scripts/make_convert_table.py                       # measures what results/convert/pairs.csv lacks, then writes
python scripts/make_convert_table.py "timm test_resnet"    # the same with one network only
python scripts/make_convert_table.py --write               # writes only
"""

import csv
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from convert_document import document
from network_checks import Original, check_batch_for_batch, check_fold, check_pair, corners, exactly, numel
from networks import NETWORKS

from normexp.config import options
from normexp.norms.base import Norm
from normexp.norms.group import GroupNorm
from normexp.norms.stack import Stack
from normexp.training.build import named_norm

TOP = Path(__file__).resolve().parent.parent
DOCUMENT, PAIRS = TOP / "docs" / "convert.md", TOP / "results" / "convert" / "pairs.csv"
COLUMNS = (
    "network", "scheme", "outcome", "reason", "parameters", "units", "brought", "folded", "unfolded", "error",
    "not_folded", "batch_for_batch",
)  # fmt: skip
NAMES = [name for name in options("norm") if name != "stack"]


def schemes() -> dict[str, Norm]:
    """Return every scheme by name; weight standardization with the group normalization that its authors put behind."""
    norms = {name: named_norm(name) for name in NAMES}
    return norms | {"weight_standard": Stack(weights=norms["weight_standard"], activations=GroupNorm())}


def main(arguments: list[str]) -> int:
    torch.set_num_threads(1)
    rows = read() if PAIRS.exists() else []
    known = {(row["network"], row["scheme"]) for row in rows}
    for network in arguments or NETWORKS:
        missing = {name: norm for name, norm in tested().items() if (network, name) not in known}
        if network in NETWORKS and missing:
            for row in measured(network, missing):
                append(row)
    rows = read()
    DOCUMENT.write_text(document(rows), encoding="utf-8")
    wrong = [row for row in rows if row["outcome"] == "wrong"]
    for row in wrong:
        print(f"{row['network']}, {row['scheme'] or 'itself'}: {row['reason']}", file=sys.stderr)
    return 1 if wrong else 0


def read() -> list[dict[str, str]]:
    with PAIRS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def append(row: dict[str, Any]) -> None:
    """Add one pair as soon as it is known: a measurement that was stopped goes on with the next."""
    PAIRS.parent.mkdir(parents=True, exist_ok=True)
    new = not PAIRS.exists()
    with PAIRS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def tested() -> dict[str, Norm | None]:
    """Return what a network is measured with: by an empty name itself, then every scheme."""
    return {"": None, **schemes()}


def measured(network: str, norms: Mapping[str, Norm | None]) -> Iterator[dict[str, Any]]:
    """Yield what becomes of a network under the schemes."""
    start = time.monotonic()
    original = Original.of(network)
    for scheme, norm in norms.items():
        check = partial(of_itself, original) if norm is None else partial(check_pair, original, norm)
        yield {"network": network, "scheme": scheme, **outcome(check)}
    print(f"{network}: {time.monotonic() - start:.0f} s", flush=True)


def outcome(check: Callable[[], tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    try:
        reason, counts = check()
    except Exception as wrong:  # whatever is raised but a refusal is a fault to be seen in the table
        return {"outcome": "wrong", "reason": f"{type(wrong).__name__}: {wrong}".splitlines()[0]}
    return {"outcome": "refused" if reason else "works", "reason": reason, **counts}


def of_itself(original: Original) -> tuple[str, dict[str, Any]]:
    """Fold the network as it is, and put batch normalization in place of batch normalization."""
    same = check_batch_for_batch(original) or "same"
    folded = check_fold(exactly(original.model), corners(original.images), original.outputs)
    counts = {"parameters": numel(original.model), "units": original.units, "batch_for_batch": same}
    return "", counts | folded


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
