"""`normexp report`: tables, figures and pages of experiments, from what is recorded."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment
from normexp.experiments.keys import RENDER
from normexp.experiments.load import is_file, load, names
from normexp.report.commands.named import folder_of, plugins_of, recorded, results_of, split
from normexp.runs.run import check_writable

logger = logging.getLogger("normexp")


def report_all(words: Sequence[str]) -> Iterator[Path]:
    """Render what is recorded; yield the files written, the page of all of them last."""
    from normexp.report.experiment.render import NothingTrained, rendered, write_rendered
    from normexp.report.page.write import write_pages

    chosen, given = split(words, RENDER, own=True)
    results, files = results_of(given), {folder_of(word): word for word in chosen}
    contents = []
    left = list[UserError]()
    folders = _folders(chosen, given, results)
    for folder in folders:
        check_writable(folder)
    for folder in folders:
        name = folder.parent.name
        try:
            experiment = _read(files.get(name, name), folder.name, plugins_of(given))
            contents.append(rendered(experiment, results))
        except (NothingTrained, NoFile) as why:
            if chosen:
                raise
            left.append(why)
        else:
            yield from write_rendered(contents[-1], results)
    _say_left_out(left, results, all_of_them=not contents)
    yield from write_pages(contents, results, everything=not chosen)


def _folders(chosen: Sequence[str], given: Mapping[str, str], results: Path) -> list[Path]:
    """Return the folders of records. Raises UserError where there is none, which says what single runs need."""
    try:
        return recorded(chosen, given, own=True)
    except UserError as error:
        runs = results / "runs"
        if chosen or not runs.is_dir():
            raise
        raise UserError(f"{error}; `normexp report {quote(str(runs))}` makes a page of single runs") from None


def _say_left_out(left: Sequence[UserError], results: Path, all_of_them: bool) -> None:
    """Say which experiments were left out, and why. Raises UserError where nothing is left to be shown."""
    if all_of_them and all(isinstance(why, NoFile) for why in left):
        raise left[0]
    for why in left:
        logger.info(f"left out: {why}")
    if all_of_them:
        raise UserError(f"{results}: no run that counts is finished; `normexp reproduce NAME` goes on")


class NoFile(UserError):
    """An experiment of somebody's own, of which there are records and no file was named."""


def _read(word: str, scale: str, plugins: Sequence[str]) -> Experiment:
    if word not in names() and not is_file(word):
        raise NoFile(f"{word}: is an experiment of your own; name its file, as in `normexp report {quote(word)}.yaml`")
    return load(word, scale, plugins)


def figures_to(out: str, words: Sequence[str], formats: Sequence[str], style: str, width: str | None) -> Iterator[Path]:
    """Draw the figures of experiments into OUT/NAME/SCALE; yield the files written."""
    check_writable(Path(out), "--out")
    from normexp.report.figures.formats import check_formats, theme
    from normexp.report.files import write

    chosen, wanted = theme(style, width), check_formats(formats)
    named, given = split(words, RENDER)
    files, folders = {folder_of(word): word for word in named}, recorded(named, given)
    for folder in folders:
        check_writable(Path(out, folder.parent.name, folder.name), "--out")
    from normexp.report.experiment.render import draw_figures

    for folder in folders:
        experiment = load(files.get(folder.parent.name, folder.parent.name), folder.name, plugins_of(given))
        for name, content in draw_figures(experiment, folder.parent.parent, chosen, wanted).items():
            yield write(experiment.folder(Path(out)) / name, content)
