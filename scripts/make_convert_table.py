"""Write docs/convert.md: which scheme can be put into which network, and why not where it cannot.

python scripts/make_convert_table.py
"""

from __future__ import annotations

import copy
import re
import string
from pathlib import Path

from networks import NETWORKS, on_meta
from torch import nn

from normexp.config import compose, options
from normexp.norms.base import Norm
from normexp.norms.convert import convert
from normexp.training.build import build_norm

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "convert.md"
LETTERS = string.ascii_lowercase
HEAD = """# Schemes in networks of others

`normexp.norms.convert.convert(model, norm)` puts a scheme into a network that somebody else wrote, or refuses before
anything is changed. `strict=False` leaves what cannot be converted as it is and lists it in `model.not_converted`.

Written by `python scripts/make_convert_table.py` from {count} networks of torchvision and timm under every scheme:
{works} pairs work, {refused} are refused. A dot means that it works; a letter is the reason of the first refusal.
`tests/norms/test_convert_networks.py` checks the pairs that work: no network becomes affine, as many nonlinear units as
before unless the scheme replaces them, finite gradients in every parameter, parameters accounted for.

"""


def main() -> None:
    norms = {name: build_norm(compose([f"norm={name}"])) for name in options("norm") if name != "stack"}
    rows = {}
    for network in NETWORKS:
        model = on_meta(network)
        rows[network] = {name: reason(model, norm) for name, norm in norms.items()}
        print(f"{network}: {sum(not why for why in rows[network].values())} of {len(norms)}", flush=True)
    DOCUMENT.write_text(text(rows))
    print(f"wrote {DOCUMENT.name}")


def reason(model: nn.Module, norm: Norm) -> str:
    """Return why the scheme cannot be put into the network, without the module's name, or nothing."""
    try:
        convert(copy.deepcopy(model), norm)
    except ValueError as error:
        return general(str(error))
    return ""


def general(message: str) -> str:
    """Leave the names of one network's modules out of a message."""
    message = message.partition(": ")[2].rpartition("; strict=False")[0]
    message = re.sub(r" \(and \d+ more\)$", "", message)
    message = message.partition("): ")[2] or message
    message = re.sub(r"its activation \S+ is", "its activation is", message)
    return re.sub(r" \(.*|, input has shape.*|: \d.*", "", message)


def text(rows: dict[str, dict[str, str]]) -> str:
    reasons = sorted({why for row in rows.values() for why in row.values() if why})
    marks = {"": "."} | dict(zip(reasons, LETTERS, strict=False))
    schemes = list(next(iter(rows.values())))
    lines = [["network", *schemes], ["---"] * (len(schemes) + 1)]
    lines += [[network, *(marks[row[name]] for name in schemes)] for network, row in rows.items()]
    works = sum(not why for row in rows.values() for why in row.values())
    head = HEAD.format(count=len(rows), works=works, refused=len(rows) * len(schemes) - works)
    legend = "\n".join(f"- {marks[why]}: {why}" for why in reasons)
    return f"{head}{legend}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
