"""What an experiment declared before its first run: claims, margin, published numbers, seeds, grid, search, set-up.

The first run at a scale writes `frozen.json` beside its results. What differs from it later was changed after that,
which tables and the ledger say with both versions. Where trials choose, the first run is one of these, and no record
tells whether a change came before the runs that are judged. One that is missing, or was written when runs were there
already, declares nothing before them, and they say that, too. `normexp freeze` writes it ahead of the first run, which
freezes anew what was changed in between. A record with no other file beside or below it has no run yet, whoever wrote
it: `reproduce` may have been killed in between.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from normexp.config.identity import IGNORED_KEYS, PATH_KEYS
from normexp.errors import UserError
from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.fields import THE_OTHERS, Place
from normexp.evidence.claims.region import Region
from normexp.experiments.contents import contents_of_own
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.taken import taken_in_words
from normexp.records import FINISHED, Damaged, RunDirectory, write_atomically
from normexp.records.files import make_folder, read_json, remove_empty
from normexp.records.names import FROZEN
from normexp.records.plain import plain, plain_json
from normexp.records.ranges import ranges
from normexp.records.taken import taken_of
from normexp.training.commit import commit

logger = logging.getLogger("normexp")

DECLARATION = "declaration"  # the record itself
_ABOUT_WORDS = ("text", "source", "where", "origin")  # a better wording is no other claim
_NOTHING = "nothing"
_BY_SCALE = "that of its scale"
_DATA = "data"  # of the user's own, by their content
_LATER = ("selection", "setting", "arm", "trial setting", _DATA)  # not in the records of older programs
_NO_OWN = "common settings"  # of an arm without any of its own


@dataclass(frozen=True)
class Change:
    """Something that is not as it was when the runs began.

    Args:
        what: `claim`, `margin`, `published`, `seeds`, `looks`, `selection seeds`, `further selection seeds`,
            `halving`, `sampler`, `grid`, `search`, `selection`, `setting`, `arm`, `trial setting` or `data`;
            `declaration` where there was none before the runs.
        name: the claim's text, the axis, the key, the arm, the published number's arm and place, the option of the data
            set; empty where there is but one of the kind.
        before, after: both versions, `nothing` where there was or is none.
        when: since what it is another one.
    """

    what: str
    name: str
    before: str
    after: str
    when: str = "after the first run"

    def __str__(self) -> str:
        if self.what == DECLARATION:
            return f"nothing is known to have been declared before the runs: {self.after}"
        name = f" {self.name!r}" if self.name else ""
        verb = "were" if self.what.endswith("s") else "was"
        return f"{self.what}{name} {verb} changed {self.when}: {self.before} before, {self.after} now"


def changes_since_frozen(experiment: Experiment, results: Path) -> list[Change]:
    """Return what the experiment declares otherwise than when its runs at this scale began; [] before there are any.

    The order is that of `declared`: claims, margin, published numbers, seeds, looks, selection seeds, grid, search,
    settings, data of the user's own as far as they are here. A claim counts as another where its estimand, region,
    arms, metric, place, target or kind differ, not where its source does; a claim with another text is one removed and
    one added. What the record of an older program does not have is not compared. Raises UserError for a damaged record.
    """
    path = frozen_path(experiment, results)
    if not path.exists():
        runs = _finished_runs(experiment, results)
        return [Change(DECLARATION, "", _NOTHING, f"{FROZEN} is missing")] if runs else []
    record = _read(path)
    return [*_too_late(record, path), *_differences(record, path, experiment)]


def _differences(record: Mapping[str, Any], path: Path, experiment: Experiment) -> Iterator[Change]:
    since = "after the first trial" if experiment.select else Change.when
    when = "after the freeze, before the first run" if _is_alone(path) else since
    then = record["declared"]
    now = declared(experiment, data=_DATA in then)
    for what in (what for what in now if what in then or what not in _LATER):
        before = then.get(what, {})
        if what == _DATA:  # of the others nobody here knows what they are now
            before = {name: before[name] for name in now[what] if name in before}
        for change in _changes(what, before, now[what]):
            yield replace(change, when=when)


def _is_alone(path: Path) -> bool:
    """Tell whether no run has followed the record: no file is there but it and what a killed process left of it."""
    files = (each.relative_to(path.parent) for each in path.parent.rglob("*") if each.is_file() and each != path)
    return all(any(part[0] == "." for part in file.parts) for file in files)


def _too_late(record: Mapping[str, Any], path: Path) -> Iterator[Change]:
    if runs := record.get("runs"):
        yield Change(DECLARATION, "", _NOTHING, f"{runs} were finished when {FROZEN} was written")
    for words in taken_in_words(taken_of(record, path)):
        yield Change(DECLARATION, "", _NOTHING, words)


def _finished_runs(experiment: Experiment, results: Path) -> int:
    """Return how many runs of the grid are finished."""
    places = (run_place(results, experiment, arm, point) for arm in experiment.arms for point in experiment.points())
    return sum(map(_is_finished, places))


def _is_finished(place: Path) -> bool:
    try:
        return RunDirectory(place).status["status"] in FINISHED
    except Damaged:  # as whoever needs it will say
        return False


def freeze(experiment: Experiment, results: Path, ahead: bool = False) -> Path | None:
    """Write frozen.json unless it is there; return its path, None where it stays as it is.

    Args:
        ahead: no run follows now, so a record that is there stays. The first run writes it anew where something was
            changed in between, and says what; else it keeps date and commit.
    """
    path = frozen_path(experiment, results)
    if not path.exists():
        return _write(path, experiment, _now(_finished_runs(experiment, results)))
    record = _read(path)
    if ahead or record.get("runs") or not _is_alone(path):
        return None
    changes = list(_differences(record, path, experiment))
    for change in changes:
        logger.info(f"{experiment.name}, frozen anew: {change}")
    return _write(path, experiment, _now() if changes else {key: record[key] for key in ("date", "commit")})


def unfreeze(frozen: Path, earlier: bytes | None) -> None:
    """Take back what was frozen for runs that were refused, and the folders in which nothing else is."""
    if list(frozen.parent.iterdir()) != [frozen]:
        return
    if earlier is not None:  # of `normexp freeze`
        write_atomically(frozen, earlier)
    else:
        frozen.unlink()
        remove_empty(list(frozen.parents)[:3])  # results/NAME/SCALE


def _now(runs: int = 0) -> dict[str, Any]:
    return {"commit": commit(), "date": datetime.now(UTC).isoformat(timespec="seconds"), "runs": runs}


def _write(path: Path, experiment: Experiment, made: Mapping[str, Any]) -> Path:
    make_folder(path.parent)
    write_atomically(path, frozen_text(declared(experiment), **made))
    return path


def frozen_path(experiment: Experiment, results: Path) -> Path:
    return experiment.folder(results) / FROZEN


def recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what frozen.json of results/NAME/SCALE declares, as `declared` does.

    Raises UserError for a missing or damaged record.
    """
    path = folder / FROZEN
    if not path.exists():
        raise UserError(f"{path} is missing")
    return dict(_read(path)["declared"])


def frozen_text(content: Mapping[str, Any], commit: str | None, date: str, runs: int = 0) -> str:
    """Return the content of frozen.json: date, commit, runs that were there already, checksum and what was declared."""
    late = {"runs": runs} if runs else {}
    record = {"date": date, "commit": commit, **late, "sha256": checksum(content), "declared": content}
    return plain_json(record)


def checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what was declared, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def declared(experiment: Experiment, data: bool = True) -> dict[str, dict[str, Any]]:
    """Return what the experiment declares, as plain data that JSON has.

    Args:
        data: those of the user's own are looked at.
    """
    select, design = experiment.select, experiment.design
    arms = list(experiment.arms)
    return {
        "claim": dict(_claim(claim, arms) for claim in experiment.claims),
        "margin": {"": experiment.table.margin or 0.0},
        "published": {f"{entry.arm}, {entry.metric}, {entry.words}": entry.value for entry in experiment.published},
        "seeds": {"": list(experiment.grid["seed"])},
        "looks": {"": [*design.looks, design.spending]} if design else {},
        "selection seeds": {"": list(select.seeds)} if select else {},
        "further selection seeds": {"": list(select.ties)} if select and select.ties else {},
        "grid": {axis: list(values) for axis, values in experiment.axes.items()},
        "halving": {"": select.halving.model_dump()} if select and select.halving else {},
        "sampler": {"": select.sampler.model_dump()} if select and select.sampler else {},
        "search": dict(select.search) if select else {},
        "selection": {"metric": select.metric, "arm": select.arm, "per": select.per} if select else {},
        "setting": _settings(experiment.common),
        "arm": {arm: _settings(own) or _NO_OWN for arm, own in experiment.arms.items()},
        "trial setting": _settings(select.common) if select else {},
        _DATA: contents_of_own(experiment) if data else {},
    }


def _settings(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return overrides without those that say where and on what is computed."""
    relevant = {key: value for key, value in overrides.items() if key not in (*IGNORED_KEYS, *PATH_KEYS)}
    return dict(plain(relevant))


def _claim(claim: Claim, arms: list[str]) -> tuple[str, dict[str, Any]]:
    fields = {name: value for name, value in claim if name not in _ABOUT_WORDS and value is not None}
    fields["kind"] = claim.kind or _BY_SCALE
    if fields.get("than") == THE_OTHERS:
        fields["than"] = [Place(arm, claim.of.point) for arm in arms if arm != claim.of.arm]
    return claim.text, {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Place):
        return str(value)
    if isinstance(value, Region):
        return [_plain(value.low), _plain(value.high)]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return plain(value)


def _changes(what: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*then, *now]):
        before, after = then.get(name), now.get(name)
        if what == "claim" and not ("kind" in (before or {}) and "kind" in (after or {})):  # older records have none
            before, after = _without_kind(before), _without_kind(after)
        if before != after:
            yield Change(what, name, *(_seeds if what.endswith("seeds") else _versions)(before, after))


def _without_kind(claim: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if claim is None else {key: value for key, value in claim.items() if key != "kind"}


def _seeds(*versions: Any) -> list[str]:
    """Return seeds as `0-4, 7`."""
    return [ranges(each) if isinstance(each, list) else _words(each) for each in versions]


def _versions(before: Any, after: Any) -> tuple[str, str]:
    """Return both as text; of two mappings only what differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
        before, after = ({key: each[key] for key in keys if key in each} for each in (before, after))
    return _words(before), _words(after)


def _words(value: Any) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, dict):
        return ", ".join(f"{key}: {each}" for key, each in value.items()) or _NOTHING
    return ", ".join(map(str, value)) if isinstance(value, list) and value else str(value)


def _read(path: Path) -> dict[str, Any]:
    """Return the record, what it declares checked against its checksum."""
    record = read_json(path)
    content = record.get("declared")
    if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
        raise UserError(f"{path}: damaged (it declares nothing)")
    if record.get("sha256") != checksum(content):
        raise UserError(f"{path}: damaged (its content does not have its checksum)")
    if not {"date", "commit"} <= record.keys():
        raise UserError(f"{path}: damaged (it does not say when it was written)")
    return record
