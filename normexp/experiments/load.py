"""Experiments by name or by file: read once into typed objects (`normexp.experiments.schema`), checked, laid out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from normexp.config import config_dir
from normexp.config.options import load_yaml
from normexp.errors import UserError, unknown
from normexp.experiments.document import Document
from normexp.experiments.shape import SCALES

if TYPE_CHECKING:  # the schema takes long to import, and names are wanted without it
    from normexp.experiments.experiment import Experiment
    from normexp.experiments.schema import ExperimentFile, Table

SUFFIXES = (".yaml", ".yml")


def names() -> list[str]:
    """Return the experiments there are."""
    return sorted(path.stem for path in (config_dir() / "experiment").glob("*.yaml"))


def scales(name: str) -> list[str]:
    """Return the scales that an experiment has, the smallest first."""
    there = _read(_document(name)).get("scales")
    return [scale for scale in SCALES if isinstance(there, Mapping) and scale in there]


def load(name: str, scale: str | None = None) -> Experiment:
    """Read an experiment at a scale, by default cpu or the largest it has.

    Args:
        name: one of `names()`, or the path of a file of your own; its results are named after the file.

    Raises: UserError for an unknown name or scale, or a YAML that is not sound.
    """
    document = _document(name)
    data = _read(document)
    if scale is None:
        there = scales(name)
        scale = "cpu" if "cpu" in there or not there else there[-1]
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return parse(document.name, scale, data, document.path)


def read(name: str, scale: str) -> Experiment:
    """Read an experiment at a scale without composing its runs' configurations: enough to find their records."""
    document = _document(name)
    return _at_scale(document, scale, read_file(document, _read(document)))


def is_file(word: str) -> bool:
    """Tell whether a word names a file rather than an experiment of ours."""
    return word.endswith(SUFFIXES)


def _document(name: str) -> Document:
    if is_file(name):
        path = Path(name)
        if not path.is_file():
            raise UserError(f"{name}: no such file")
        if path.stem in names() and not path.resolve().is_relative_to(config_dir().resolve()):
            raise UserError(f"{name}: {path.stem} is one of ours, whose results it would mix with; rename the file")
        return Document(path.stem, path)
    if name not in names():
        raise unknown("experiment", name, names())
    return Document(name, config_dir() / "experiment" / f"{name}.yaml")


def _read(document: Document) -> dict[str, Any]:
    assert document.path is not None
    try:
        data: Any = load_yaml(document.path)
    except yaml.YAMLError as error:
        raise document.error(f"is not YAML ({' '.join(str(error).split())})") from None
    except UnicodeDecodeError:
        raise UserError(f"{document.path}: is no text in UTF-8") from None
    if not isinstance(data, dict):
        raise document.error(f"{data!r} is not a mapping")
    return data


def parse(name: str, scale: str, data: Mapping[str, Any], path: Path | None = None) -> Experiment:
    """Build an experiment from its YAML's content and check it without running anything."""
    from normexp.experiments.check import check

    document = Document(name, path)
    file = read_file(document, data)
    if scale not in file.scales:
        raise UserError(f"experiment {name} has no scale {scale}; it has {', '.join(file.scales)}")
    return check(_at_scale(document, scale, file), document)


def read_file(document: Document, data: Mapping[str, Any]) -> ExperimentFile:
    """Return the typed content of a file. Raises UserError, one line with the place, for what cannot be meant."""
    from pydantic import ValidationError

    from normexp.config.schema import first_problem
    from normexp.experiments.schema import ExperimentFile

    try:
        return ExperimentFile.model_validate(data)
    except ValidationError as error:
        keys, problem = first_problem(error, data)
        raise document.error(problem, *keys) from None


def _at_scale(document: Document, scale: str, file: ExperimentFile) -> Experiment:
    from normexp.experiments.experiment import Experiment, Select
    from normexp.experiments.schema import AtScale, Selection

    own = file.scales[scale] or AtScale()  # type: ignore[index]
    select = None
    if file.select is not None:
        over = own.select.model_dump(exclude_unset=True) if own.select else {}
        chosen = Selection.model_validate({**file.select.model_dump(exclude_unset=True), **over})
        select = Select(chosen.search, chosen.seeds, chosen.metric, chosen.common or {}, chosen.arm, chosen.per or [])
    return Experiment(
        name=document.name,
        file="" if document.path is None or document.path.parent == config_dir() / "experiment" else str(document.path),
        scale=scale,
        paper=file.paper,
        item=file.item,
        title=file.title,
        about=own.about or file.about,
        arms=file.arms,
        refused=file.refused,
        grid={**file.grid, **own.grid},
        common={**file.common, **own.common},
        select=select,
        table=_table(file.table),
        published=[_look(entry.model_dump(exclude_unset=True)) for entry in file.published],
        published_only=[entry.model_dump() for entry in file.published_only],
        figures=file.figures,
        claims=file.claims,
        deviations=[*file.deviations, *own.deviations],
        findings=own.findings,
        summary=file.summary,
        underpowered=own.underpowered or file.underpowered,
    )


def _table(table: Table) -> dict[str, Any]:
    """Return the table as a mapping, its columns as mappings or names."""
    columns = [each if isinstance(each, str) else _look(each.model_dump(exclude_unset=True)) for each in table.columns]
    return {**table.model_dump(exclude_unset=True), **({"columns": columns} if columns else {})}


def _look(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as tables read it: tables call `relative_to` `over`."""
    return {"over" if key == "relative_to" else key: value for key, value in entry.items()}
