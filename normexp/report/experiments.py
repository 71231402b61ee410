"""`normexp report`: tables, figures and pages of experiments, from what is recorded."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from normexp.errors import UserError
from normexp.experiments.keys import RENDER
from normexp.experiments.load import load
from normexp.report.named import folder_of, plugins_of, recorded, split
from normexp.runs.run import check_writable

logger = logging.getLogger("normexp")


def report_all(words: Sequence[str]) -> Iterator[Path]:
    """Render what is recorded; yield the files written, the page of all of them last."""
    from normexp.report.experiment.render import NothingTrained, rendered, write_rendered
    from normexp.report.page.write import write_pages

    chosen, given = split(words, RENDER)
    results, files = Path(given.get("results_dir", "results")), {folder_of(word): word for word in chosen}
    contents = []
    for folder in recorded(words):
        name = folder.parent.name
        try:
            contents.append(rendered(load(files.get(name, name), folder.name, plugins_of(given)), results))
        except NothingTrained as nothing:
            if chosen:
                raise
            logger.info(f"left out: {nothing}")
        else:
            yield from write_rendered(contents[-1], results)
    if not contents:
        raise UserError(f"{results}: no run that counts is finished; `normexp reproduce NAME` goes on")
    yield from write_pages(contents, results, everything=not chosen)


def figures_to(out: str, words: Sequence[str], formats: Sequence[str], style: str, width: str | None) -> Iterator[Path]:
    """Draw the figures of experiments into OUT/NAME/SCALE; yield the files written."""
    from normexp.report.experiment.render import draw_figures
    from normexp.report.figures.formats import check_formats, theme
    from normexp.report.files import write

    chosen, wanted = theme(style, width), check_formats(formats)
    check_writable(Path(out), "--out")
    named, given = split(words, RENDER)
    files = {folder_of(word): word for word in named}
    for folder in recorded(words):
        experiment = load(files.get(folder.parent.name, folder.parent.name), folder.name, plugins_of(given))
        for name, content in draw_figures(experiment, folder.parent.parent, chosen, wanted).items():
            yield write(Path(out) / experiment.name / experiment.scale / name, content)
