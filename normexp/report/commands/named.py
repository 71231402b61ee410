"""What is asked for by the names of experiments and `key=value`: their folders, settings and records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote

from normexp.config import compose, config_dir
from normexp.config.allowed import parse
from normexp.config.one_value import check_one
from normexp.config.overrides import check_once, parse_overrides
from normexp.config.own import PLUGINS
from normexp.errors import UserError, did_you_mean, nearest_path, unknown
from normexp.evidence.scales import SCALES
from normexp.experiments.keys import RESULTS
from normexp.experiments.load import check_file, is_file, names, unknown_experiment

RESULTS_FOLDER = Path("results")


def split(
    words: Sequence[str],
    keys: Sequence[str],
    own: bool = False,
    meant: Callable[[str], str | None] = lambda name: None,
    among: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """Return the names and the `key=value` pairs. Raises UserError for a name or a key that does not exist.

    Args:
        own: an experiment of somebody's own may be named by its folder of records, where its file is not needed.
        meant: what the hint proposes for a name that does not exist; by default the nearest one.
        among: the names that an error allows; by default all.
    """
    chosen = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    check_once(word for word in words if "=" in word)
    there = own_names(results_of(given)) if own else []
    for name in chosen:
        if is_file(name):
            check_file(name)
        elif name not in names() and name not in there:
            raise unknown_experiment(name, meant(name), among=among)
    for key in given:
        if key not in keys:
            raise unknown("key", key, keys)
    if "scale" in given:
        parse(" | ".join(SCALES), "").check("scale", given["scale"])
    return chosen, given


def plugins_of(given: Mapping[str, str]) -> list[str]:
    """Return the modules that were typed as plugins=[...]. Raises UserError for what `normexp run` refuses, too."""
    return list(compose([f"{PLUGINS}={given[PLUGINS]}"])["plugins"]) if PLUGINS in given else []


def folder_of(name: str) -> str:
    """Return the folder in which an experiment's records lie: that of a file of somebody's own has the file's name."""
    return Path(name).stem if is_file(name) else name


def results_of(given: Mapping[str, str]) -> Path:
    """Return the folder of results, read as `normexp run` reads it. Raises UserError for several: A,B is no folder."""
    if RESULTS not in given:
        return RESULTS_FOLDER
    word = f"{RESULTS}={given[RESULTS]}"
    check_one(parse_overrides([word])[0])
    return Path(compose([word])[RESULTS])


def own_names(results: Path) -> list[str]:
    """Return the names of the experiments of somebody's own that have a folder of records."""
    folders = {scale.parent.name for name in SCALES for scale in results.glob(f"*/{name}") if scale.is_dir()}
    return sorted(folders - set(names()))


def recorded(chosen: Sequence[str], given: Mapping[str, str], own: bool = False) -> list[Path]:
    """Return the folders results/NAME/SCALE that are asked for.

    Args:
        chosen: names of experiments; none are all.
        given: scale and results_dir, where they were typed.
        own: also those of experiments of somebody's own, by default and by name.

    Raises: UserError where there is none, or none of an experiment that is named.
    """
    results = results_of(given)
    asked = [given["scale"]] if "scale" in given else SCALES
    every = [*names(), *(own_names(results) if own else [])]
    folders = [results / folder_of(name) / scale for name in chosen or every for scale in SCALES]
    there = [folder for folder in folders if folder.is_dir()]
    found = [folder for folder in there if folder.name in asked]
    if not found:
        raise empty(results, "such records of an experiment", [folder.name for folder in there])
    check_there(chosen, {folder.parent.name for folder in found}, given, f"{results} holds no such records of it")
    return found


def check_there(chosen: Sequence[str], there: Collection[str], given: Mapping[str, str], lack: str) -> None:
    """Raise UserError for an experiment that is named beside others, and of which there is nothing."""
    for name in chosen:
        if folder_of(name) not in there:
            scale = f" scale={given['scale']}" if "scale" in given else ""
            raise UserError(f"{name}: {lack}; leave it out, or start with `normexp reproduce {quote(name)}{scale}`")


def empty(results: Path, what: str, there: Iterable[str] = ()) -> UserError:
    """Return the error where nothing is found.

    Args:
        there: scales, other than the one asked for, at which something is.
    """
    if scales := sorted(set(there), key=SCALES.index):
        return UserError(f"{results}: holds no {what} at that scale; there is something at {', '.join(scales)}")
    start = nearest_path(results) or _below(results) or f"; start with `normexp reproduce NAME`{_of_the_clone(results)}"
    return UserError(f"{results}: holds no {what}{start}")


def _below(results: Path) -> str:
    """Return a hint where a clone was given, not its results."""
    below = results / RESULTS_FOLDER
    return did_you_mean(quote(str(below))) if below.is_dir() else ""


def _of_the_clone(results: Path) -> str:
    """Return where the committed records are, for somebody who is in another folder and named none."""
    committed = config_dir().parent / RESULTS_FOLDER
    elsewhere = results == RESULTS_FOLDER and committed.is_dir() and committed != results.resolve()
    return f", or read those of the clone: {quote(f'{RESULTS}={committed}')}" if elsewhere else ""
