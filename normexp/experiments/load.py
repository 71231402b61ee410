"""Experiments by name or by file: read once into typed objects (`normexp.experiments.schema`), checked, laid out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from normexp.config import config_dir
from normexp.config.own import PLUGINS
from normexp.config.text import short_repr
from normexp.errors import UserError, did_you_mean, nearest_file, unknown
from normexp.evidence.scales import SCALES
from normexp.experiments.by_paper import proposed
from normexp.experiments.document import LIKE, Document, check_own, read_document
from normexp.experiments.folders import folder_problem
from normexp.experiments.like import check_names, laid_over
from normexp.experiments.no_yaml import no_yaml
from normexp.records.meaning import meant

if TYPE_CHECKING:  # the schema takes long to import, and names are wanted without it
    from normexp.evidence.stats import Design
    from normexp.experiments.experiment import Experiment
    from normexp.experiments.grids import Selection, SelectionAtScale, Sequential
    from normexp.experiments.schema import ExperimentFile

SUFFIXES = (".yaml", ".yml")


def names() -> list[str]:
    """Return the experiments there are."""
    return sorted(path.stem for path in (config_dir() / "experiment").glob("*.yaml"))


def is_taken(name: str) -> bool:
    """Tell whether a name is that of an experiment of ours on a file system that does not tell A from a."""
    return name.casefold() in map(str.casefold, names())


def scales(name: str) -> list[str]:
    """Return the scales that an experiment has, the smallest first."""
    there = content(name).get("scales")
    return [scale for scale in SCALES if isinstance(there, Mapping) and scale in there]


def laws() -> list[str]:
    """Return the experiments that test a formula."""
    folder = config_dir() / "experiment"
    return [name for name in names() if "\nlaw:\n" in (folder / f"{name}.yaml").read_text(encoding="utf-8")]


def load(name: str, scale: str | None = None, plugins: Sequence[str] = ()) -> Experiment:
    """Read an experiment at a scale, by default the smallest that is more than a preview.

    Args:
        name: one of `names()`, or the path of a file of your own; its results are named after the file.
        plugins: modules whose classes the file may name as norm, model or another part.

    Raises: UserError for an unknown name or scale, or a YAML that is not sound.
    """
    document = document_of(name)
    data = _read(document)
    if scale is None:
        scale = usual_scale(name)
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return parse(document, scale, data, plugins)


def usual_scale(name: str) -> str:
    """Return the scale that an experiment is run at where none is given: the smallest that is more than a preview."""
    there = scales(name)
    return next((scale for scale in SCALES[1:] if scale in there or not there), SCALES[0])


def read(name: str, scale: str, plugins: Sequence[str] = ()) -> Experiment:
    """Read an experiment at a scale without composing its runs' configurations: enough to find their records."""
    document = document_of(name)
    return _at_scale(document, scale, read_file(document, _read(document)), plugins)


def check_file(name: str) -> None:
    """Raise UserError for a file of somebody's own that is not there or no experiment; its parts are not composed."""
    document = document_of(name)
    read_file(document, _read(document))


def is_file(word: str) -> bool:
    """Tell whether a word names a file rather than an experiment of ours."""
    return word.endswith(SUFFIXES)


def unknown_experiment(
    name: str, meant: str | None = None, folder: Path = Path(), among: Sequence[str] = ()
) -> UserError:
    """Build the one-line error for a name that is none of ours; a file of that name in the folder is what was meant.

    Args:
        meant: what the hint proposes; by default those of a paper with these words, or the nearest name.
        among: the names that are allowed; by default all.
    """
    allowed = among or names()
    for path in (f"{word}{suffix}" for word in (name, Path(name).name) for suffix in SUFFIXES):  # results/NAME, too
        if (folder / path).is_file():
            return UserError(f"experiment {name!r} does not exist; a file of your own is named whole: {path}")
    return unknown("experiment", name, allowed, meant or proposed(name, allowed))


def document_of(name: str, folder: Path = Path()) -> Document:
    """Return the file of an experiment of ours, or of somebody's own. Raises UserError where there is none.

    Args:
        folder: whose files an error proposes for the name of an experiment that is none of ours.
    """
    if is_file(name):
        path = Path(name)
        if not path.is_file():
            ours = did_you_mean(path.stem if path.stem in names() else None)  # configs/experiment/NAME.yaml, say
            missing = f"no such file{nearest_file(path, path.suffix, *SUFFIXES) or ours}"
            raise UserError(f"{name}: {'is no regular file' if path.exists() else missing}")
        if is_taken(path.stem) and not path.resolve().is_relative_to(config_dir().resolve()):
            raise UserError(f"{name}: {path.stem} is one of ours, whose results it would mix with; rename the file")
        if problem := folder_problem(path.stem):
            raise UserError(f"{name}: results lie in a folder named after the file: {problem}; rename it")
        return read_document(path.stem, path)
    if name not in names():
        raise unknown_experiment(name, folder=folder)
    return read_document(name, config_dir() / "experiment" / f"{name}.yaml")


def _is_ours(document: Document) -> bool:
    return document.path.parent == config_dir() / "experiment"


def content(name: str) -> dict[str, Any]:
    """Return what the file of an experiment says, and what it is like says where it does not; nothing is checked."""
    return _read(document_of(name))


def _read(document: Document) -> dict[str, Any]:
    return _read_once(document) if _is_ours(document) else _content(document)


@cache
def _read_once(document: Document) -> dict[str, Any]:
    """Return what a file of ours says. As options they stay as they are, and the ledger asks each several times."""
    return _content(document)


def _content(document: Document, over: tuple[Document, ...] = ()) -> dict[str, Any]:
    """Return what a file says, laid over what it is like.

    Args:
        over: the files that are like it.
    """
    try:
        if not _is_ours(document):
            check_own(document)
        data: Any = meant(document.text)
    except yaml.YAMLError as error:
        raise no_yaml(document, error) from None
    except ValueError as error:
        raise document.error(str(error)) from None
    if data is None:
        raise document.error("is empty; `normexp new experiment NAME` writes one to start from")
    if not isinstance(data, dict):
        raise document.error(f"{short_repr(data)} is not a mapping of keys to values")
    return _like_another(document, data, over) if LIKE in data else data


def _like_another(document: Document, data: Mapping[str, Any], over: tuple[Document, ...]) -> dict[str, Any]:
    name, folder = data[LIKE], document.path.parent
    if not isinstance(name, str):
        raise document.error(f"{short_repr(name)} is no name of an experiment, and no file of one", LIKE)
    try:
        base = document_of(str(folder / name) if is_file(name) else name, folder)
    except UserError as error:
        raise document.error(str(error), LIKE) from None
    files = (*over, document)
    if any(base.path.samefile(file.path) for file in files):
        raise document.error(f"{name} is like this one itself", LIKE)
    there = _read(base) if _is_ours(base) else _content(base, files)
    check_names(document, there, data)
    return laid_over(there, data)


def parse(document: Document, scale: str, data: Mapping[str, Any], plugins: Sequence[str] = ()) -> Experiment:
    """Build an experiment from its YAML's content and check it without running anything."""
    from normexp.experiments.check import check

    return check(_at_scale(document, scale, read_file(document, data), plugins), document)


def read_file(document: Document, data: Mapping[str, Any]) -> ExperimentFile:
    """Return the typed content of a file. Raises UserError, one line with the place, for what cannot be meant."""
    from normexp.experiments.schema import ExperimentFile

    with _placed(document, data):
        return ExperimentFile.model_validate(data)


@contextmanager
def _placed(document: Document, data: Mapping[str, Any], *keys: str) -> Iterator[None]:
    """Raise UserError, one line with the place, for the first thing in data that cannot be meant.

    Args:
        keys: under which the data stand in the file.
    """
    from pydantic import ValidationError

    from normexp.config.schema import first_problem

    try:
        yield
    except ValidationError as error:
        below, problem = first_problem(error, data)
        raise document.error(problem, *keys, *below) from None


def _selection(document: Document, scale: str, file: ExperimentFile, own: SelectionAtScale | None) -> Selection | None:
    """Return how hyperparameters are chosen at a scale. Raises UserError where its part does not fit to the rest."""
    from normexp.experiments.grids import Selection

    if file.select is None:
        return None
    data = file.select.model_dump(exclude_unset=True) | (own.model_dump(exclude_unset=True) if own else {})
    with _placed(document, data, "scales", scale, "select"):
        return Selection.model_validate(data)


def _at_scale(document: Document, scale: str, file: ExperimentFile, plugins: Sequence[str]) -> Experiment:
    from normexp.experiments.checks.in_vain import check_lengths
    from normexp.experiments.experiment import Experiment
    from normexp.experiments.schema import AtScale

    if scale not in file.scales:
        raise UserError(f"experiment {document.name} has no scale {scale}; it has {', '.join(file.scales)}")
    own = file.scales[scale] or AtScale()
    check_lengths(document, scale, file, own)
    grid = {**file.grid, **own.grid}
    return Experiment(
        name=document.name,
        file="" if _is_ours(document) else str(document.path),
        scale=scale,
        paper=file.paper,
        item=file.item,
        title=file.title,
        about=own.about or " ".join(filter(None, [file.about, own.here])),
        arms={arm: {**overrides, **own.arms.get(arm, {})} for arm, overrides in file.arms.items()},
        refused=file.refused,
        grid=grid,
        common={**file.common, **own.common, **({PLUGINS: list(plugins)} if plugins else {})},
        select=_selection(document, scale, file, own.select),
        table=file.table,
        published=file.published,
        published_only=file.published_only,
        figures=file.figures,
        claims=file.claims,
        deviations=[*file.deviations, *own.deviations],
        findings=own.findings,
        summary=file.summary,
        underpowered=own.underpowered or file.underpowered,
        law=file.law,
        design=_design(own.sequential, grid.get("seed", [])),
    )


def _design(declared: Sequential | None, seeds: Sequence[int]) -> Design | None:
    from normexp.evidence.stats import Design

    return Design(tuple(seeds), tuple(declared.looks), declared.spending) if declared else None
