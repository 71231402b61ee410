"""Which record counts of a run of which there are several; what contradicts is no choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from normexp.errors import UserError
from normexp.records.beside import Contradiction
from normexp.records.files import MOST_TABLE, condition, damaged
from normexp.records.names import FINISHED, METRICS, UNREADABLE
from normexp.records.run import RunDirectory

Runs = dict[str, RunDirectory]


@dataclass
class Choice:
    """Of every run the record that counts.

    Args:
        there: what the target has.
        anew: the target is written anew, and would lose what it has of a run that is damaged: another may be sound.
        ignored: keys of a configuration that may differ.
        fresh, kept: the records that count, from elsewhere and of the target.
        left: a line on each record that is left out.
        contradictions: a line on each record that another one contradicts.
    """

    there: Runs
    anew: bool
    ignored: set[str]
    fresh: Runs = field(default_factory=dict)
    kept: Runs = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def choose(self, name: str, records: Iterable[RunDirectory]) -> None:
        """Choose among the records of one run. Raises UserError for one that the target would lose."""
        found = dict[RunDirectory, RunDirectory]()  # each record as it was read
        counts: RunDirectory | None = None
        for run in records:
            try:
                found[run] = whole(run)
                counts = better(counts, found[run], self.ignored) if counts else found[run]
            except Contradiction as what:
                self.contradictions.append(f"{name}: {what}")
            except UserError as error:
                if run == self.there.get(name) and (self.anew or condition(error) == UNREADABLE):
                    raise
                self.left.append(str(error))
        if counts is None:
            return
        if name in self.there and counts is found.get(self.there[name]):
            self.kept[name] = counts if self.anew else self.there[name]  # of a folder, what was read is not needed
        else:
            self.fresh[name] = counts


def whole(run: RunDirectory) -> RunDirectory:
    """Return a record that was read as a whole; of a finished one, nothing small is read again.

    Raises UserError where a file is damaged, or missing: that is no reason to drop the other record.
    """
    files = run.contents(weights=False)
    run.check_sums(without=files)
    whole = run.read_already(files)
    if whole.status["status"] not in FINISHED:
        whole = run
    elif METRICS not in files:
        raise damaged(run.path / METRICS, "it is missing")
    _ = whole.config
    return whole


def better(one: RunDirectory, other: RunDirectory, ignored: set[str]) -> RunDirectory:
    """Return the record that counts. Raises Contradiction."""
    states = [(one, one.status), (other, other.status)]
    if _told(one.config, ignored) != _told(other.config, ignored):
        raise Contradiction(f"{one.path} and {other.path} have different configurations")
    finished = [(run, status["status"]) for run, status in states if status["status"] in FINISHED]
    if len({(ended, run.read(METRICS, MOST_TABLE)) for run, ended in finished}) > 1:
        told = f"{one.path} and {other.path} have different results ({METRICS})"
        raise Contradiction(f"{told}; move away the one that is not to count")
    if finished:
        return finished[0][0]
    return max(states, key=lambda state: state[1].get("step", 0))[0]


def _told(config: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Return what two records of one run agree in."""
    changes = {key: value for key, value in (config.get("_changes_") or {}).items() if key not in ignored}
    return {**{key: value for key, value in config.items() if key not in ignored}, "_changes_": changes}
