"""Options of `norm` inside another one: `norm=stack norm.weights=weight_standard norm.activations=group`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normexp.config.options import option, options, without_descriptions
from normexp.errors import UserError, nearest


def take_parts(norm: dict[str, Any], about: Mapping[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Put every part that `given` names into `norm`, and take it out of `given`.

    Returns {key: name} of the parts that differ from the usual ones, and the description of the whole: the
    parts' ranges, and what any of them needs.
    """
    usual = about.get("_parts_", {})
    names = {part: _name(part, given.pop(f"norm.{part}", name)) for part, name in usual.items()}
    whole = dict(about)
    for part, name in names.items():
        described = option("norm", name)
        options_of_part = {**without_descriptions(described)}
        options_of_part.pop("placement", None)  # the whole has one
        norm[part] = options_of_part
        _join(whole, part, described)
    return {f"norm.{part}": name for part, name in names.items() if name != usual[part]}, whole


def _name(part: str, name: Any) -> str:
    allowed = [option_name for option_name in options("norm") if "_parts_" not in option("norm", option_name)]
    if str(name) in allowed:
        return str(name)
    hint = nearest(str(name), allowed)
    raise UserError(f"norm.{part}={name} does not exist; allowed: {', '.join(allowed)}{hint}")


def _join(whole: dict[str, Any], part: str, described: Mapping[str, Any]) -> None:
    """Add to the whole's description what one part says of itself."""
    ranges = {f"{part}.{key}": spec for key, spec in described.get("_allowed_", {}).items()}
    whole["_allowed_"] = {**whole.get("_allowed_", {}), **ranges}
    whole["_batch_statistics_"] = whole.get("_batch_statistics_") or described.get("_batch_statistics_")
    if "_needs_" in described:
        whole["_needs_"] = described["_needs_"]
