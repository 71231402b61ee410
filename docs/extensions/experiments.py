"""Every experiment as a card, and its table as a page with verdicts and figures, from the records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from normexp.experiments.load import content, load, names
from normexp.report.ledger.claims import claim_line
from normexp.report.ledger.judged import VERDICTS, Report, read_reports
from normexp.report.links import markdown_links

TOP = Path(__file__).resolve().parents[2]
RESULTS = TOP / "results"
TABLE = re.compile(r"results/(\w+)/(\w+)/table")
COLOURS = dict(zip(VERDICTS, ("success", "danger", "secondary"), strict=True))


@cache
def reports() -> dict[tuple[str, str], Report]:
    return {(each.experiment, each.scale): each for each in read_reports(RESULTS)}


def badges(report: Report) -> str:
    """Return how many claims have which verdict, each in its colour."""
    counts = Counter(str(claim["verdict"]) for claim in report.claims)
    ordered = {verdict: counts[verdict] for verdict in (*VERDICTS, *counts) if counts[verdict]}
    return " ".join(f"{{bdg-{COLOURS.get(verdict, 'light')}}}`{count} {verdict}`" for verdict, count in ordered.items())


def scales(name: str) -> list[str]:
    """Return the scales with a committed table."""
    return sorted(path.parent.name for path in RESULTS.glob(f"{name}/*/table.md"))


def first_figure(folder: Path) -> str | None:
    """Return the first figure of a folder of results, as the site names it."""
    page = folder / "figures.md"
    found = re.search(r"!\[.*\]\((.+)\)", page.read_text(encoding="utf-8")) if page.exists() else None
    return found and f"/{folder.relative_to(TOP)}/{found[1]}"


def card(name: str) -> Iterator[str]:
    """Yield the lines of an experiment's card; of several scales the last, the paper's, gives figure and verdicts."""
    about, there = content(name), scales(name)
    yield f":::{{grid-item-card}} {about['title']}"
    figure = first_figure(RESULTS / name / there[-1]) if there else None
    if figure:
        yield from (f":img-top: {figure}", f":img-alt: {about['title']}: the first figure")
    if there:
        yield from (f":link: /results/{name}/{there[-1]}/table", ":link-type: doc")
    yield from ("", f"{about['paper']}, {about['item']}", "")
    yield badges(reports()[name, there[-1]]) if (name, (there or [""])[-1]) in reports() else "*not run yet*"
    yield from ("", f"`normexp reproduce {name}`", ":::", "")


class Experiments(SphinxDirective):
    """All experiments as cards."""

    def run(self) -> list[nodes.Node]:
        cards = [line for name in names() for line in card(name)]
        return self.parse_text_to_nodes("\n".join(["::::{grid} 1 2 2 3", ":gutter: 3", "", *cards, "::::"]))


def page(name: str, scale: str, table: str) -> Iterator[str]:
    """Yield the page of an experiment: what it is, verdicts, its table as it stands, printed numbers, figures."""
    about, folder = content(name), RESULTS / name / scale
    yield from (f"# {name}" + (f", {scale}" if len(scales(name)) > 1 else ""), "")
    yield from (f"**{about['title']}.** {load(name, scale).about}", "")
    yield from (f"[How it is declared](/configs/experiment/{name}.yaml). It is made again by", "")
    yield from ("```", f"normexp reproduce {name} scale={scale}", "```", "", table, "")
    if report := reports().get((name, scale)):
        yield from ("## Verdicts", "", badges(report), "", "Evidence: [the ledger](/results/claims.md).", "")
        yield from map(claim_line, report.claims)
    for part, title in (("numbers", "Printed numbers, checked"), ("figures", "Figures")):
        if (folder / f"{part}.md").exists():
            text = (folder / f"{part}.md").read_text(encoding="utf-8")
            yield from ("", f"## {title}", "", re.sub(r"\A# .*\n", "", text))
    if others := [path.stem for path in folder.glob("*.md") if path.stem not in ("table", "numbers", "figures")]:
        yield from ("```{toctree}", *others, "```")


def dress(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make a page of a table.md, which has neither title nor figures; give other tables a title."""
    if found := TABLE.fullmatch(docname):
        source[0] = markdown_links("\n".join(page(*found.groups(), source[0])))
    elif docname.startswith("results/") and docname.endswith("/sensitivity"):
        source[0] = f"# {docname.split('/')[1]}, how much it depends on the rate\n\n{source[0]}"
    elif docname.startswith("results/bench/"):
        source[0] = f"# {docname.rpartition('/')[2]}\n\n{source[0]}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("experiments", Experiments)
    app.connect("source-read", dress)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
