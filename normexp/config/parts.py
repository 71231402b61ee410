"""Options of `norm` inside another one: `norm=stack norm.weights=weight_standard norm.activations=group`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from normexp.config.hints import code_hint, must_be_named, no_option, path_hint, word_hint
from normexp.config.options import option, options, without_descriptions
from normexp.config.text import shown

TARGET = "_target_"
UNSET = object()  # equals no value, so that whatever is given to a part of the user's own counts as a change, null too


def chosen_parts(usual: Mapping[str, str], given: Mapping[str, Any], plugins: Sequence[str]) -> dict[str, str]:
    """Return {part: option}: of every part in `usual` what `given` says under `norm.PART`, else the usual one.

    A part may be a scheme of the user's own, in one of the modules `plugins`.
    """
    return {part: _name(part, given.get(f"norm.{part}", name), plugins) for part, name in usual.items()}


def is_own(name: object, plugins: Sequence[str]) -> bool:
    """Tell whether the name is that of something in one of these modules of the user's own."""
    return any(str(name).startswith(f"{plugin}.") for plugin in plugins)


def node(place: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the place of something of the user's own in a configuration: every key that was given, and its target."""
    start = f"{place}."
    return {**{key.removeprefix(start): UNSET for key in given if key.startswith(start)}, TARGET: UNSET}


def with_parts(
    norm: Mapping[str, Any],
    about: Mapping[str, Any],
    names: Mapping[str, str],
    given: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a norm with those of its parts inside, and the description of the whole.

    The description has the parts' ranges, what any of them needs, which options they are, and which are the user's own:
    these have the keys that are given to them.
    """
    values, whole = dict(norm), dict(about)
    for part, name in names.items():
        if "." in name:
            values[part] = {**node(f"norm.{part}", given), TARGET: name}
            whole["_own_parts_"] = (*whole.get("_own_parts_", ()), part)
            continue
        described = option("norm", name)
        values[part] = {k: v for k, v in without_descriptions(described).items() if k != "placement"}  # the whole's
        whole = _joined(whole, part, name, described)
    return values, whole


def _name(part: str, name: Any, plugins: Sequence[str]) -> str:
    if is_own(name, plugins):
        return str(name)
    allowed = part_options()
    if (typed := shown(name)) in allowed:
        return typed
    key = f"norm.{part}"
    if "." in typed and all(map(str.isidentifier, typed.split("."))) and not typed.startswith("normexp."):
        raise must_be_named(f"{key}={typed}", typed)
    hint = path_hint(key, typed) or code_hint(key, typed, plugins) or word_hint(typed, allowed)
    raise no_option(key, typed, allowed, hint)


def part_options() -> list[str]:
    """Return the options of `norm` that may be a part of another one: those that have no parts themselves."""
    return [name for name in options("norm") if "_parts_" not in option("norm", name)]


def _joined(whole: Mapping[str, Any], part: str, name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole's description with what one part says of itself."""
    ranges = {f"{part}.{key}": spec for key, spec in described.get("_allowed_", {}).items()}
    needs = {"_needs_": described["_needs_"]} if "_needs_" in described else {}
    return {
        **whole,
        "_allowed_": {**whole.get("_allowed_", {}), **ranges},
        "_batch_statistics_": whole.get("_batch_statistics_") or described.get("_batch_statistics_"),
        "_chosen_parts_": {**whole.get("_chosen_parts_", {}), part: name},
        "_tokens_": whole.get("_tokens_", False) and described.get("_tokens_", False),
        **needs,
    }
