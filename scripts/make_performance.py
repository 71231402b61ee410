#!/usr/bin/env python
"""Fill the tables of docs/performance.md and docs/scale.md from the measurements under results/bench.

    scripts/make_performance.py

A block `<!-- bench:NAME -->` holds results/bench/NAME.md, `bench:ratios` the cost of schemes relative to batch norm.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from normexp.bench.ratio import Ratio, decimals

TOP = Path(__file__).resolve().parent.parent
PAGES = [TOP / "docs" / name for name in ("performance.md", "scale.md")]
BENCH = TOP / "results" / "bench"
BLOCK = re.compile(r"(<!-- bench:(\S+) -->\n).*?(<!-- /bench -->)", re.DOTALL)
MAPS, VECTORS = "(128, 96, 32, 32)", "(128, 512)"
COMPILED = ", compiled"
PRECISIONS = ("fp32", "bf16")
NO_NORMS = ("copy", "convolution")
MEASURED = ("seconds", "moved", "operators", "flops")
Times = dict[str, list[float]]
Record = dict[str, Any]
LIMIT = 2.5  # times batch norm


def filled(page: str) -> str:
    """Return the page with every block made again."""
    return BLOCK.sub(lambda found: f"{found[1]}{content(found[2])}\n{found[3]}", page)


def content(name: str) -> str:
    """Return the table of one block."""
    return ratios() if name == "ratios" else (BENCH / f"{name}.md").read_text(encoding="utf-8").strip()


def ratios() -> str:
    """Return the time of every scheme over that of batch norm in the formats in which networks train.

    Beside each the same compiled (`compile=norms`) and what its operators move; what no record has is left out.
    """
    there = {title: found for title, found in measured().items() if found.get("seconds")}
    names = dict.fromkeys(norm for found in there.values() for norm in found["seconds"])
    heads = [head for title in there for head in (title, "compiled", "passes")]
    lines = [
        f"Forward and backward on maps {MAPS} in channels_last and on vectors {VECTORS}, relative to batch norm: "
        "medians of paired ratios; passes that its operators make over the tensor, or over parts of it in the cache.",
        "",
        f"| norm | {' | '.join(heads)} |",
        f"| --- |{' ---: |' * len(heads)}",
    ]
    slow = {title: list[str]() for title in there}
    for norm in (name for name in names if name not in NO_NORMS and not name.endswith(COMPILED)):
        cells: list[str] = []
        for title, found in there.items():
            plain, compiled = (_ratio(found["seconds"], form) for form in (norm, norm + COMPILED))
            cells += [decimals(plain, 2), decimals(compiled, 2), decimals(found.get("moved", {}).get(norm), 0)]
            if min((each for each in (plain, compiled) if each is not None), default=0.0) > LIMIT:
                slow[title].append(f"`{norm}`")
        lines.append(f"| {norm} | {' | '.join(cells)} |")
    above = "; ".join(f"{title}: {', '.join(each) or 'none'}" for title, each in slow.items())
    lines += ["", f"Above {LIMIT:g} times batch norm, compiled or not: {above}."]
    return "\n".join([*lines, *reasons(slow, there)])


def reasons(slow: dict[str, list[str]], there: dict[str, Record]) -> Iterator[str]:
    """Yield a table of what the slow schemes' ordinary operators do beside batch norm's, where records count it."""
    rows = [
        f"| {norm} | {title} | {of['moved'][norm]:.0f} | {of['operators'][norm]} | {of['flops'][norm]:.0f} |"
        for title, norms in slow.items()
        if "flops" in (of := there[title])
        for norm in ("batch", *(name.strip("`") for name in norms))
    ]
    if rows:
        yield "\n| norm | of | passes | operators | FLOP of products for a value |\n| --- | --- | ---: | ---: | ---: |"
        yield from rows


def measured() -> dict[str, Record]:
    """Return the seconds of every scheme and what was counted of its operators: of maps, then of vectors."""
    found: dict[str, Record] = {}
    for precision in PRECISIONS:
        maps = _data(f"layers-128x96x32x32-{precision}")
        found[f"maps, {precision}"] = maps | {"seconds": maps["seconds"]["channels_last"]}
    vectors = _data("layers-128x512")
    for precision in PRECISIONS:
        found[f"vectors, {precision}"] = {what: vectors.get(what, {}).get(precision) for what in MEASURED}
    return {place: {what: each for what, each in record.items() if each} for place, record in found.items()}


def _data(name: str) -> Any:
    """Return the measurements of a record; nothing where there is none yet."""
    path = BENCH / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["data"] if path.exists() else {}


def _ratio(seconds: Times, norm: str) -> float | None:
    if norm not in seconds:
        return None
    return Ratio.of(seconds[norm], seconds["batch"]).median


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
