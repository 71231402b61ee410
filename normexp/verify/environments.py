"""What differs between the environments of two runs: libraries, processor, arithmetic, the program itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from normexp.evidence.curves import short_commit

Facts = Mapping[str, Any]


def causes(before: Facts, now: Facts) -> str:
    """Say which library, processor or arithmetic differs between a record and now, as far as the record tells."""
    found = list(_changes(before, now))
    if not found:
        found = ["same libraries and processor"]
        if before.get("commit") != now.get("commit"):
            found.append(f"commit {short_commit(before.get('commit'))} -> {short_commit(now.get('commit'))}")
    silent = [name for name, key in (("processor model", "cpu"), ("arithmetic", "arithmetic")) if key not in before]
    if silent:
        found.append(f"the record does not tell {' and '.join(silent)}")
    return "; ".join(found)


def _changes(before: Facts, now: Facts) -> Iterator[str]:
    """Yield `torch 2.14.0 -> 2.15.0` for every fact that both have and that differs."""
    for name, was, is_now in _pairs(before, now):
        if was is not None and is_now is not None and was != is_now:
            yield f"{name} {was} -> {is_now}"


def _pairs(before: Facts, now: Facts) -> Iterator[tuple[str, Any, Any]]:
    for name in now.get("packages", {}):
        yield name, before.get("packages", {}).get(name), now["packages"][name]
    for key in ("python", "device", "processor", "threads", "precision"):
        yield key, before.get(key), now.get(key)
    yield "runs in one program", before.get("stacked", 1), now.get("stacked", 1)
    for key in ("family", "model", "stepping", "flags_sha256"):
        name = "instruction sets" if key == "flags_sha256" else f"processor's {key}"
        was, is_now = (_part(each, "cpu", key) for each in (before, now))
        yield (name, *(_cut(value) for value in (was, is_now)))
    for key in now.get("arithmetic", {}):
        yield key, _part(before, "arithmetic", key), _part(now, "arithmetic", key)


def _part(facts: Facts, group: str, key: str) -> Any:
    found = facts.get(group)
    return found.get(key) if isinstance(found, Mapping) else None


def _cut(value: Any) -> Any:
    return value[:8] if isinstance(value, str) else value
