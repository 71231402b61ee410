"""`executor=slurm executor.workers=8`: taken out of the command line, checked as the keys of a run are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normexp.config.allowed import parse
from normexp.config.one_value import one_value
from normexp.config.options import option, options, without_descriptions
from normexp.config.overrides import parse_overrides
from normexp.errors import UserError, unknown

GROUP = "executor"
BEATS = 3  # that a living worker may miss


@dataclass(frozen=True)
class Settings:
    """One executor and its keys."""

    name: str
    values: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]


def take_executor(words: Sequence[str]) -> tuple[Settings | None, list[str]]:
    """Take executor=NAME and executor.KEY=VALUE out of the overrides; None where there is neither.

    Raises: UserError for an executor, a key or a value that does not exist.
    """
    given = [word for word in words if word.partition("=")[0].partition(".")[0] == GROUP]
    rest = [word for word in words if word not in given]
    if not given:
        return None, rest
    values = {each.key_or_group: one_value(each) for each in parse_overrides(given)}
    name = str(values.pop(GROUP, "local"))
    if name not in options(GROUP):
        raise unknown("executor", name, options(GROUP))
    return checked(name, {key.removeprefix(f"{GROUP}."): value for key, value in values.items()}), rest


def checked(name: str, given: dict[str, Any]) -> Settings:
    """Return an executor's settings: those given, for the rest the defaults. Raises UserError."""
    about = option(GROUP, name)
    values = without_descriptions(about)
    for key, value in given.items():
        if key not in values:
            raise unknown(f"executor={name}: key", f"{GROUP}.{key}", [f"{GROUP}.{each}" for each in values])
        rule = parse(about["_allowed_"].get(key), values[key])
        values[key] = rule.check(f"{GROUP}.{key}", value)
    if values["takeover"] < BEATS * values["heartbeat"]:
        raise UserError(
            f"executor.takeover={values['takeover']:g}: shorter than {BEATS} heartbeats of "
            f"{values['heartbeat']:g} s; the living would count as dead"
        )
    return Settings(name, values)
