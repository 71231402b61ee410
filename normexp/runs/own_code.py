"""The files of a user's own parts by their checksums: a run is known by its configuration, so a change is said."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from normexp.config import Config
from normexp.config.instantiate import TRUSTED, find_in_current_folder, is_inside, own_parts
from normexp.data.files.content import sha256_of
from normexp.records import OWN_CODE, RunDirectory


def own_code(config: Config) -> dict[str, dict[str, str]]:
    """Return {OWN_CODE: {module: sha256 of its file}} of the parts that are the user's own; empty where none is."""
    modules = {target.rpartition(".")[0] for target in own_parts(config).values()}
    files = {module: _file(module) for module in sorted(modules) if not is_inside(module, TRUSTED)}
    found = {module: sha256_of(file) for module, file in files.items() if file and file.is_file()}
    return {OWN_CODE: found} if found else {}


def changed_code(config: Config, directory: RunDirectory) -> list[str]:
    """Name the modules whose file is not the one that a run was trained with; none where its record does not say."""
    now = own_code(config).get(OWN_CODE, {})
    recorded: Mapping[str, Any] = directory.environment.get(OWN_CODE, {}) if now else {}
    return [module for module, sha256 in now.items() if recorded.get(module, sha256) != sha256]


def _file(module: str) -> Path | None:
    """Return the file of a module, which is not imported for that; None where it has none, as in a notebook."""
    find_in_current_folder()
    try:
        spec = find_spec(module)
    except Exception:  # a package above it may fail in any way; who imports the module says so
        return None
    return Path(spec.origin) if spec and spec.origin else None
