"""The files of a user's own parts by their checksums: a run is known by its configuration, so a change is said."""

from __future__ import annotations

import site
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from normexp.config import Config
from normexp.config.instantiate import TRUSTED, find_in_current_folder, is_inside, own_parts
from normexp.data.files.content import sha256_of
from normexp.records import OWN_CODE, RunDirectory, environment_before


def own_code(config: Config) -> dict[str, dict[str, str]]:
    """Return {OWN_CODE: {module: sha256 of its file}} of the parts that are the user's own; empty where none is.

    So also of the modules beside a part's own that it imports, directly or through others.
    """
    modules = {target.rpartition(".")[0] for target in own_parts(config).values()}
    files: dict[str, Path] = {}
    for module in modules:
        if not is_inside(module, TRUSTED) and (file := _file(module)) and file.is_file():
            files |= {module: file, **_imported(module, file, file.stat().st_mtime_ns)}
    found = {module: sha256_of(file) for module, file in sorted(files.items()) if file.is_file()}
    return {OWN_CODE: found} if found else {}


def changed_code(config: Config, directory: RunDirectory) -> list[str]:
    """Name the modules whose file is not the one that a run was trained with; none where its record does not say."""
    now = own_code(config).get(OWN_CODE, {})
    recorded: Mapping[str, Any] = environment_before(directory).get(OWN_CODE, {}) if now else {}
    return [module for module, sha256 in now.items() if recorded.get(module, sha256) != sha256]


def with_another(changed: Iterable[str]) -> str:
    """Say that these modules are not those of a record."""
    return f"with another {' and '.join(sorted(set(changed)))} than"


def _file(module: str) -> Path | None:
    """Return the file of a module, which is not imported for that; None where it has none, as in a notebook."""
    spec = _spec(module)
    return Path(spec.origin) if spec and spec.origin else None


def _spec(module: str) -> ModuleSpec | None:
    find_in_current_folder()
    try:
        return find_spec(module)
    except Exception:  # a package above it may fail in any way; who imports the module says so
        return None


@lru_cache(maxsize=256)
def _imported(module: str, file: Path, changed_at: int) -> Mapping[str, Path]:
    """Return {module: file} of what a module imports from the folder that it is found in, or below it.

    Nothing is run for that. What is installed is known by its version, so that it is not followed.
    """
    from modulefinder import ModuleFinder

    folder = file.parents[module.count(".") + (file.stem == "__init__")]
    if any(folder.is_relative_to(place) for place in (*site.getsitepackages(), site.getusersitepackages())):
        return {}
    finder = ModuleFinder(path=[str(folder)], excludes=list(TRUSTED))
    try:
        finder.import_hook(module)
    except Exception:  # a file that is no Python, which whoever imports it says
        return {}
    files = {name: getattr(found, "__file__", None) for name, found in finder.modules.items()}
    here = {name: Path(path) for name, path in files.items() if path}
    return {name: path for name, path in here.items() if _is_found_in(folder, name.partition(".")[0])}


def _is_found_in(folder: Path, module: str) -> bool:
    """Tell whether Python finds a module there, and not an installed one of its name, which comes first."""
    spec = _spec(module)
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    return any(Path(place).is_relative_to(folder) for place in places)
