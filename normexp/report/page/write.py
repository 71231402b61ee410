"""The page of experiments as a file, or as several where one would be too large."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from normexp.report.experiment.render import Rendered
from normexp.report.files import write
from normexp.report.ledger.judged import read_reports
from normexp.report.page import PAGE
from normexp.report.page.page import page

MOST = 5_000_000  # bytes of a page that can be sent around; a larger one becomes several


def write_pages(contents: Sequence[Rendered], results: Path, everything: bool) -> list[Path]:
    """Write the page of all experiments into results/report.html; of a single one, into its folder.

    Where the page of all is too large, it has the ledger only and each experiment a page of its own,
    with a link back.
    """
    reports = read_reports(results)
    titles = title_of([each.experiment.title for each in contents])
    own = [each.experiment.folder(results) / PAGE for each in contents]
    if len(contents) == 1 and not everything:
        return [write(own[0], page(contents, reports, titles))]
    title = "normexp: claims about normalization" if everything else titles
    whole = page(contents, reports, title)
    if len(whole.encode()) <= MOST:
        return [write(results / PAGE, whole)]
    pages = [page([each], reports, each.experiment.title, whole=f"../../{PAGE}") for each in contents]
    links = [path.relative_to(results).as_posix() for path in own]
    return [*map(write, own, pages), write(results / PAGE, page(contents, reports, title, links))]


def title_of(titles: Sequence[str]) -> str:
    """Return the title of a page of experiments, of which one may be there at several scales."""
    found = list(dict.fromkeys(titles))
    sections = f" at {len(titles)} scales in all" if len(titles) > len(found) else ""
    return ", ".join(found) if len(found) < 3 else f"{len(found)} experiments{sections}"
