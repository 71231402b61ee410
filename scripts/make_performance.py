#!/usr/bin/env python
"""Fill the tables of docs/performance.md and docs/scale.md from the measurements under results/bench.

    scripts/make_performance.py

A block `<!-- bench:NAME -->` holds results/bench/NAME.md, `bench:ratios` the cost of schemes relative to batch norm.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / name for name in ("performance.md", "scale.md")]
BENCH = ROOT / "results" / "bench"
BLOCK = re.compile(r"(<!-- bench:(\S+) -->\n).*?(<!-- /bench -->)", re.DOTALL)
LAYERS = {"fp32": "layers-128x96x32x32-fp32", "bf16": "layers-128x96x32x32-bf16"}


def filled(page: str) -> str:
    """Return the page with every block made again."""
    return BLOCK.sub(lambda found: f"{found[1]}{content(found[2])}\n{found[3]}", page)


def content(name: str) -> str:
    """Return the table of one block."""
    return ratios() if name == "ratios" else (BENCH / f"{name}.md").read_text(encoding="utf-8").strip()


def ratios() -> str:
    """Return the time of every scheme over that of batch norm in its format: medians of paired ratios."""
    columns = {
        f"{precision}, {layout}": seconds
        for precision, name in LAYERS.items()
        for layout, seconds in json.loads((BENCH / f"{name}.json").read_text())["data"]["seconds"].items()
    }
    norms = [norm for norm in next(iter(columns.values())) if norm not in ("copy", "convolution")]
    lines = [
        "Forward and backward on (128, 96, 32, 32), relative to batch norm in its format: medians of paired ratios.",
        "",
        f"| norm | {' | '.join(columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
    ]
    for norm in norms:
        cells = (f"{_ratio(seconds[norm], seconds['batch']):.2f}" for seconds in columns.values())
        lines.append(f"| {norm} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(seconds: list[float], baseline: list[float]) -> float:
    return median(ours / batch for ours, batch in zip(seconds, baseline, strict=True))


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
