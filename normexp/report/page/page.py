"""The whole page: head, ledger, one section an experiment. Equal records give equal bytes; nothing is fetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from normexp import __version__
from normexp.evidence.claims import KINDS
from normexp.report import html
from normexp.report.experiment.render import Rendered
from normexp.report.ledger.judged import MEANING_OF_VERDICTS, VERDICTS, Report, total
from normexp.report.page import elements
from normexp.report.page.section import Section, section

FOLDER = Path(__file__).parent
STYLES = ("vendor/uPlot.min.css", "page.css")
SCRIPTS = ("vendor/uPlot.min.js", "page.js")
POLICY = (  # no request, whatever is inside; a figure's scale of colours is a picture within it
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)


def page(
    rendered: Sequence[Rendered], reports: Sequence[Report], title: str, links: Sequence[str] = (), whole: str = ""
) -> str:
    """Return the page of experiments with their judged claims.

    Args:
        links: addresses of each experiment's own page, where this one has the ledger only.
        whole: address of the page that has the ledger, where this one is of a single experiment.
    """
    judged = {(report.experiment, report.scale): report for report in reports}
    chosen = [judged[each.experiment.name, each.experiment.scale] for each in rendered]
    numbers = count()
    sections = [section(each, report.claims, numbers) for each, report in zip(rendered, chosen, strict=True)]
    if links:
        return document(
            title, _ledger(chosen) + _navigation(html.element("h2", "Experiments") + _list(sections, links))
        )
    return document(title, _ledger(chosen) + "".join(each.content for each in sections), _contents(sections, whole))


def document(title: str, content: str, navigation: str = "") -> str:
    """Return a whole page around its content. It is complete without its script, and nothing in it is fetched."""
    body = [
        html.element("a", "Skip to the results", href="#results", class_="skip"),
        html.element("header", html.element("h1", html.text(title)) + _intro()),
        navigation,
        html.element("main", content, id="results"),
        html.element("footer", html.element("p", f"normexp {html.text(__version__)}")),
        *(html.element("script", _file(name)) for name in SCRIPTS),
    ]
    return f"<!doctype html>\n{html.element('html', _head(title) + html.element('body', ''.join(body)), lang='en')}\n"


def _head(title: str) -> str:
    styles = "".join(html.element("style", _file(name)) for name in STYLES)
    return html.element(
        "head",
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><meta name="color-scheme" content="light dark">'
        f"{html.element('title', html.text(title))}{styles}",
    )


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _intro() -> str:
    return html.element(
        "p",
        "Every number was measured in recorded runs; each table names them, and the command that trains them "
        "again. Mean ± standard deviation over seeds; intervals are of 95 % where nothing else is said.",
    )


def _navigation(content: str) -> str:
    return html.element("nav", content, aria_label="Experiments")


def _contents(sections: Sequence[Section], whole: str) -> str:
    """Return links to the sections; from a single one, to the page of all, where there is one."""
    if len(sections) > 1:
        return _navigation(html.folded("Contents", _list(sections, [f"#{each.name}" for each in sections])))
    return _navigation(html.element("p", html.element("a", "All experiments", href=whole))) if whole else ""


def _list(sections: Sequence[Section], addresses: Sequence[str]) -> str:
    """Return links to sections; two scales of an experiment have one title, and are told apart."""
    seen = Counter(each.title for each in sections)
    names = [f"{each.title}, scale {each.scale}" if seen[each.title] > 1 else each.title for each in sections]
    items = (
        html.element("li", html.element("a", html.text(name), href=address) + f" {_short(each)}")
        for each, name, address in zip(sections, names, addresses, strict=True)
    )
    return html.element("ol", "".join(items))


def _short(found: Section) -> str:
    words = ", ".join(f"{count} {verdict}" for verdict, count in found.counts.items() if count)
    return html.element("span", html.text(words), class_="counts")


def _ledger(reports: Sequence[Report]) -> str:
    """Return the counts by kind: what was found, and how much each kind says."""
    totals = {kind: total(reports, kind) for kind in KINDS}
    rows = [[kind, *(str(totals[kind][verdict]) for verdict in VERDICTS)] for kind in KINDS if totals[kind]]
    heads = ["kind of claim", *VERDICTS]
    legend = (
        "exact: identities and arithmetic, tested to a tolerance. full scale: at the set-up that was published, or of "
        "a law of theory on a network of ours. "
        "scaled: at a smaller scale of ours, where only the ordering is judged. own: claimed by no source."
    )
    content = html.element("h2", "Claims by kind", id="ledger-head") + elements.plain_rows(heads, rows, "Counts")
    content += html.element("p", MEANING_OF_VERDICTS) + html.element("p", legend)
    return html.element("section", content, id="ledger", aria_labelledby="ledger-head")
