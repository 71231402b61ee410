"""Settings from a file or from a run that is recorded, as overrides: `--config my.yaml`, `--like RUN`, `--save`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from shlex import quote
from typing import Any

from normexp.config import Config, compose
from normexp.config.defaults import RECORDED, beyond_changes
from normexp.config.identity import IGNORED_KEYS, PATH_KEYS
from normexp.config.own import PLUGINS, target_key
from normexp.config.recipe import KEY, NONE, left_by, with_recipe
from normexp.config.text import override_text, shortened, shown
from normexp.errors import UserError, first_line, nearest_file
from normexp.records import find_run, read_regular, write_atomically, yaml_mapping
from normexp.records.forms import check_config
from normexp.records.meaning import check_keys, meant

MOST = 1 << 20  # bytes of a file of settings


def settings_of_file(path: str) -> dict[str, Any]:
    """Return {dotted key or group: value} of a YAML file; of a run's config.yaml, what differs from the defaults.

    What was changed by hand in a copy of a run's config.yaml counts, under `_changes_` or where the value stands.

    A mapping inside stands for keys of its group: `optim: {lr: 0.1}` is `optim.lr: 0.1`.

    Raises: UserError where the file cannot be read, is no mapping, or names code to be run.
    """
    if not Path(path).exists():
        near = nearest_file(Path(path), Path(path).suffix or ".yaml", ".yaml", ".yml")
        raise UserError(f"--config {path}: no such file{near}")
    if Path(path).is_dir():
        raise UserError(f"--config {path}: a folder, no file; the settings of a run are --like {path}")
    if not Path(path).is_file():
        raise UserError(f"--config {path}: is no regular file; write the settings into one")
    try:
        data = read_regular(Path(path).resolve(), MOST)  # the user's own file may be a link, a record's may not
        content = yaml_mapping(data)
        if all(key in content for key in RECORDED):
            check_keys(data.decode())
            check_config(content)
            found = _of_record(content, f"--config {path}")
        else:
            found = _once(_leaves(meant(data.decode()), path))
    except ValueError as error:
        raise UserError(f"--config {path}: {first_line(error)}") from None
    if found.get(PLUGINS, []) != []:
        raise UserError(f"--config {path}: plugins are code that is run, so they are typed: add 'plugins=[...]'")
    return found


def settings_of_run(path: str, typed: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a recorded run has other than today's defaults; where it was computed is left out.

    A file of the run that is not here is left out, too, where without it the data are the same: those that their
    publisher states, or a copy of them that was decoded before.

    Args:
        typed: overrides that win: a file that one of them gives is not looked for.

    Raises: UserError where there is no run, or more than one, and where its data are not here.
    """
    run = find_run(path, f"--like {path}:")
    found = _of_record(run.config, f"--like {path}")
    own = target_key("dataset") in found  # which may find its file by a part of its name
    gone = [] if own else [key for key in _under(typed, found) if _is_gone(key, found[key])]
    rest = {key: value for key, value in found.items() if key not in gone}
    if gone and not _is_trained_on(rest, run.data.get("content")):
        key, name = gone[0], shortened(shown(found[gone[0]]))
        raise UserError(f"--like {path}: {name}, which it was trained on, is not here; {key}=PATH says where it is")
    return rest


def with_settings(settings: Mapping[str, Any], typed: Sequence[str]) -> list[str]:
    """Return settings as overrides under those that are typed, which win; a group that is typed wins with its keys."""
    return [*(f"{key}={override_text(settings[key])}" for key in _under(typed, settings)), *typed]


def _under(typed: Sequence[str], settings: Mapping[str, Any]) -> Iterable[str]:
    """Return the keys that what is typed leaves as they are."""
    return left_by([text.partition("=")[0] for text in typed], settings)


@contextmanager
def saved(config: Config, path: str | None) -> Iterator[None]:
    """Write the settings of a configuration as a file for `--config`; taken back where what follows is refused.

    A file that has them already stays as it is: the same command continues a run.

    Raises: UserError for another file that is there.
    """
    if path is None:
        yield
        return
    file, content = Path(path), _as_file(config, path)
    if is_new := not _holds(file, content):
        _write_new(file, content, f"--save {path}")
    try:
        yield
    except UserError:
        if is_new:
            file.unlink(missing_ok=True)
        raise


def _as_file(config: Config, path: str) -> bytes:
    import yaml

    changes = {KEY: NONE} | {key: value for key, value in config.changes.items() if key != PLUGINS}
    head = f"# normexp run --config {quote(Path(path).name)}\n"
    return (head + yaml.safe_dump(changes, sort_keys=False, allow_unicode=True)).encode()


def _holds(file: Path, content: bytes) -> bool:
    try:
        return file.is_file() and file.stat().st_size == len(content) and file.read_bytes() == content
    except OSError:
        return False


def _write_new(file: Path, content: bytes, named: str) -> None:
    if file.exists():
        raise UserError(f"{named}: is there already; give another name")
    if not file.parent.is_dir():
        raise UserError(f"{named}: no such folder: {file.parent}")
    write_atomically(file, content)


def _of_record(config: Mapping[str, Any], named: str) -> dict[str, Any]:
    """Return what a recorded configuration changed, and what else it says that today's defaults do not."""
    changes = config.get("_changes_") or {}
    beyond = {key: value for key, value in beyond_changes(config).items() if key != PLUGINS}
    for key in beyond.keys() & changes.keys():
        told = f"{key} is {shown(beyond[key])}, and {shown(changes[key])} under _changes_"
        raise UserError(f"{named}: {told}; let both say the same")
    return {KEY: NONE} | {key: value for key, value in changes.items() if key not in IGNORED_KEYS} | beyond


def _is_gone(key: str, value: Any) -> bool:
    """Tell whether a file is named by its last part, as records do, and is not here."""
    return key in PATH_KEYS and len(PurePath(str(value)).parts) == 1 and not Path(str(value)).exists()


def _is_trained_on(settings: Mapping[str, Any], content: str | None) -> bool:
    """Tell whether what a run with these settings would be trained on has this content."""
    from normexp.data.loading import content_of

    try:
        return content_of(compose(with_recipe(with_settings(settings, ())))) == content
    except UserError:
        return False


def _once(leaves: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return what a file says. Raises ValueError for a key that stands there in both spellings."""
    found: dict[str, Any] = {}
    for key, value in leaves:
        if key in found:
            raise ValueError(f"{key} is given twice; give it once")
        found[key] = value
    return found


def _leaves(tree: Mapping[Any, Any], path: str, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in tree.items():
        if not isinstance(key, str):
            raise UserError(f"--config {path}: {shortened(str(key))!r} is no key")
        if isinstance(value, Mapping):
            yield from _leaves(value, path, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
