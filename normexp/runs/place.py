"""Where a run is recorded, and whether what is recorded there was made from the data that the user names now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from normexp.config import Config
from normexp.config.identity import identity
from normexp.data.loading import content_of, load
from normexp.errors import UserError
from normexp.records import RunDirectory

_fingerprints: dict[str, str] = {}


def with_content(config: Config) -> Config:
    """Return the configuration with the content of its data; as it is where these cannot be had: loading says why."""
    try:
        return config if config.content is not None else replace(config, content=content_of(config))
    except UserError:
        return config


def default_run_dir(config: Config) -> Path:
    """Return the run directory of a configuration that belongs to no experiment.

    Its name knows the content of the data that the user brings. A record from before names did is used where its
    data were the same.
    """
    config, runs = with_content(config), _runs(config)
    place, earlier = runs / config.name, runs / replace(config, content=None).name
    if config.content is not None and config.files and earlier != place and not place.exists() and earlier.exists():
        return earlier if _same_data(RunDirectory(earlier), config) else place
    return place


def check_data(directory: RunDirectory, config: Config) -> None:
    """Raise UserError if a record was made from other data than those that the configuration names."""
    config = with_content(config)
    if config.files and config.content is not None and not _same_data(directory, config):
        raise UserError(
            f"{directory.path}: was made with other data than {_files(config)} holds now; --force trains it again, "
            "or give another results_dir"
        )


def why_new(config: Config) -> str:
    """Say which run was trained on files of the same name with another content; nothing where there is none."""
    if not config.files or not config.content:
        return ""
    for place in sorted(_runs(config).glob(f"{config.title}-*")):
        try:
            changes = RunDirectory(place).config.get("_changes_") or {}
        except UserError:
            continue
        if place.name != config.name and identity(changes) == identity(config.changes):
            return f"{_files(config)}: other content than when {place.name} was trained, so this is another run"
    return ""


def _files(config: Config) -> str:
    return ", ".join(f"{key}={path}" for key, path in config.files.items())


def _runs(config: Config) -> Path:
    return Path(config["results_dir"]) / "runs"


def _same_data(directory: RunDirectory, config: Config) -> bool:
    """Compare contents; with a record that has none, what was read from the data. True where nothing was recorded."""
    try:
        data = directory.data
    except UserError:
        return False
    if "content" in data:
        return bool(data["content"] == config.content)
    return "sha256" not in data or bool(data["sha256"] == _fingerprint(config))


def _fingerprint(config: Config) -> str:
    """Return the fingerprint of data in files, which no seed changes: many runs of a sweep ask for the same."""
    key = f"{config['dataset']} {config.content}"
    if key not in _fingerprints:
        _fingerprints[key] = load(config).fingerprint
    return _fingerprints[key]
