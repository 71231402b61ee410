"""Overrides as typed (`norm=batch optim.lr=0.3`) -> one checked, resolved configuration.

Groups and options are Hydra's, and Hydra parses the override grammar; every check is ours, so that each mistake is one
line with the nearest valid name (Hydra accepts `+typo=1` and `epochs=abc`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from normexp.config import own
from normexp.config.allowed import parse
from normexp.config.config import Config, flat
from normexp.config.hints import code_hint, no_option, option_hint
from normexp.config.one_value import single_value
from normexp.config.options import (
    groups,
    is_description,
    option,
    options,
    root,
    usual_options,
    without_descriptions,
)
from normexp.config.overrides import listed_overrides, parse_overrides, plain_value
from normexp.config.parts import TARGET, chosen_parts, node, with_parts
from normexp.config.places import place
from normexp.config.rules import check_rules
from normexp.config.study_rules import check_study
from normexp.config.text import check_digits, shortened, shown
from normexp.config.unknown_key import Unknown
from normexp.errors import UserError, check_current_folder

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

Tree = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """What one override gives to one key.

    Args:
        text: the value as typed.
    """

    value: Any
    text: str


@dataclass(frozen=True)
class Defaults:
    """The chosen options before any key is set.

    Args:
        values: nested options; a step of `compose` returns new ones and leaves these, which are cached, alone.
        about: group -> the description keys of its option; `""` of the root; `_own_` for a part of the user's own.
        choices: group -> chosen option.
        parts: the parts of the norm that were chosen otherwise than usual, `norm.PART` -> option.
    """

    values: Tree
    about: Mapping[str, Any]
    choices: Mapping[str, str]
    parts: Mapping[str, str]

    @cached_property
    def leaves(self) -> Mapping[str, Any]:
        """The values by dotted key."""
        return flat(self.values)


def compose(overrides: Sequence[str] = ()) -> Config:
    """Compose and check one configuration; none gives the defaults. Raises UserError for anything that cannot work."""
    check_current_folder()
    given = _given(parse_overrides(listed_overrides(overrides)))
    texts = _texts(given)
    given = {own.renamed(key, one.value, texts): one for key, one in given.items()}
    keys = {key: one for key, one in given.items() if key not in groups()}
    named = _listed_plugins(keys)
    chosen = {group: _option(group, one.value, named) for group, one in given.items() if group in groups()}
    chosen = _with_fitting_inputs(chosen)
    composed = _composed(tuple(sorted(chosen.items())))
    plugins = _plugins(composed, keys)
    defaults = _with_parts(composed, keys, plugins)
    keys = {key: one for key, one in keys.items() if key not in _part_keys(defaults)}
    owned = own.own_groups(_texts(keys), plugins)
    usable = _with_own_parts(defaults, keys, owned)
    values = _with_length(_with_values(usable, keys), keys)
    check_rules(values, defaults.choices, usable.about)
    leaves = flat(values)
    own.check_plugins(plugins, leaves.values())
    choices = {**defaults.choices, **{group: values[group][TARGET] for group in owned}}
    changes = _changes(leaves, usable)
    check_study(choices["study"], usable.about["study"], changes)
    return Config(values, choices, changes)


def _given(parsed: Iterable[Override]) -> dict[str, Given]:
    """Return the overrides by key, of a key given twice the last. Raises UserError for another kind than KEY=VALUE."""
    found: dict[str, Given] = {}
    for override in parsed:
        key, text = override.key_or_group, single_value(override).input_line or ""
        found[key] = Given(plain_value(override), text.partition("=")[2])
    return found


def _texts(given: Mapping[str, Given]) -> dict[str, str]:
    return {key: str(one.value) for key, one in given.items()}


def _option(group: str, name: Any, plugins: Sequence[str] = ()) -> str:
    allowed, typed = options(group), shown(name)
    if typed in allowed:
        return typed
    if isinstance(name, list) and len(name) > 1:
        raise UserError(f"{group}={typed}: several are {group}={typed[1:-1]}, without brackets, in a sweep")
    code = code_hint(group, typed, plugins) if group in own.GROUPS else ""
    raise no_option(group, typed, allowed, code or option_hint(group, typed))


def _listed_plugins(keys: Mapping[str, Given]) -> list[str]:
    """Return what may be names of the user's own modules, for a hint: they are not checked yet."""
    value = keys["plugins"].value if "plugins" in keys else []
    return list(filter(own.may_be_module, map(str, value if isinstance(value, list) else [value])))


def _with_fitting_inputs(chosen: Mapping[str, str]) -> dict[str, str]:
    """Choose the input normalization where the data set takes one only and none was given."""
    fitting = option("dataset", chosen["dataset"]).get("_inputs_", []) if "dataset" in chosen else []
    return {"inputs": fitting[0], **chosen} if len(fitting) == 1 else dict(chosen)


@cache
def _composed(chosen: tuple[tuple[str, str], ...]) -> Defaults:
    """Return the given options among the usual ones, without what they say of themselves."""
    choices = {**usual_options(), **dict(chosen)}
    top = {key: value for key, value in root().items() if key != "defaults"}
    tree = {group: option(group, name) for group, name in choices.items()} | top
    about = {group: {k: v for k, v in tree[group].items() if is_description(k)} for group in groups()}
    about[""] = {key: value for key, value in top.items() if is_description(key)}
    return Defaults(without_descriptions(tree), about, choices, {})


def _part_keys(defaults: Defaults) -> list[str]:
    return [f"norm.{part}" for part in defaults.about["norm"].get("_parts_", {})]


def _with_parts(defaults: Defaults, keys: Mapping[str, Given], plugins: Sequence[str]) -> Defaults:
    """Put the options of `norm` that are parts of the chosen one into it (`norm=stack norm.weights=weight`)."""
    usual = defaults.about["norm"].get("_parts_", {})
    if not usual:
        return defaults
    given = {key: one.value for key, one in keys.items()}
    names = chosen_parts(usual, given, plugins)
    norm, about = with_parts(defaults.values["norm"], defaults.about["norm"], names, given)
    return replace(
        defaults,
        values={**defaults.values, "norm": norm},
        about={**defaults.about, "norm": about},
        parts={f"norm.{part}": name for part, name in names.items() if name != usual[part]},
    )


def _with_own_parts(defaults: Defaults, keys: Mapping[str, Given], owned: Sequence[str]) -> Defaults:
    """Let a part of the user's own, with the keys that are given, stand in for the option of its group."""
    if not owned:
        return defaults
    nodes = {group: node(group, keys) for group in owned}
    about = {group: {"_own_": True} for group in owned}
    return replace(defaults, values={**defaults.values, **nodes}, about={**defaults.about, **about})


def _plugins(defaults: Defaults, keys: Mapping[str, Given]) -> list[str]:
    """Return the user's own modules; what other keys may name depends on them. Raises UserError for no such names."""
    usual = defaults.values["plugins"]
    given = keys.get("plugins")
    if given and isinstance(given.value, str):
        _check_module(given.value, given.value)
    plugins: list[str] = _value("plugins", given, usual, defaults.about) if given else usual
    for name in plugins:
        _check_module(name, f"[{shortened(name)}]")
    return plugins


def _check_module(name: str, typed: str) -> None:
    if not own.may_be_module(name) or name.endswith(".py"):
        bare = name.removesuffix(".py").removeprefix("./")
        example = bare if own.may_be_module(bare) else "my_norms"
        raise UserError(f"plugins={shortened(typed)}: must be names of modules, for example plugins=[{example}]")


def _with_values(defaults: Defaults, keys: Mapping[str, Given]) -> Tree:
    """Return new values in which every given key has its checked value."""
    leaves = defaults.leaves
    values: Tree = _copied(defaults.values)
    for key, one in keys.items():
        if key not in leaves:
            raise _unknown_key(key, one, defaults)
        *parents, leaf = key.split(".")
        tree = values
        for parent in parents:
            tree = tree[parent]
        tree[leaf] = _value(key, one, leaves[key], defaults.about)
    return values


def _unknown_key(key: str, given: Given, defaults: Defaults) -> UserError:
    leaves = {name: value for name, value in defaults.leaves.items() if not name.endswith(TARGET)}
    names = dict.fromkeys(groups()) | leaves | dict.fromkeys(_part_keys(defaults))

    def accepts(name: str) -> bool:
        alone = isinstance(names[name], list) and not isinstance(given.value, list)
        one = Given([given.value], f"[{given.text}]") if alone else given  # as the hint types it
        try:
            _option(name, given.value) if name in groups() else _value(name, one, names[name], defaults.about)
        except UserError:
            return False
        return True

    return Unknown(key, given.text, names, defaults.choices, accepts).error()


def _copied(value: Any) -> Any:
    """Return mappings and lists anew: all that the options have, ten times as fast as a deep copy of anything."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _value(key: str, given: Given, default: Any, about: Mapping[str, Any]) -> Any:
    """Check one value against its key's default and specification; return it in the right type."""
    group, _, rest = key.partition(".")
    if rest.endswith(TARGET) and (rest != TARGET or group not in own.GROUPS):
        raise UserError(f"{key}: code of your own may be named by GROUP.{TARGET} of {', '.join(own.GROUPS)}")
    described = about[group] if rest else {}
    own_part = rest.partition(".")[0] in described.get("_own_parts_", ())
    if described.get("_own_") or own_part:  # what is the user's own checks its own parameters
        check_digits(key, given.text)
        return given.value
    allowed = described.get("_allowed_", {}) if rest else about[""]["_allowed_"]
    value = parse(allowed.get(rest or key), default).check_typed(key, given.value, given.text)
    return place(key, value) if key == "results_dir" else value


def _with_length(values: Tree, keys: Mapping[str, Given]) -> Tree:
    """Return values with one length, steps or epochs. Raises UserError where both are given, or neither."""
    given = {key: keys[key].value for key in ("epochs", "steps") if key in keys and keys[key].value is not None}
    if len(given) == 2:
        raise UserError(f"epochs={given['epochs']} steps={given['steps']}: give one of the two")
    if values["steps"] is not None:
        return {**values, "epochs": None}
    if values["epochs"] is None:
        raise UserError("epochs=null: give epochs or steps")
    return values


def _changes(leaves: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    usual = _composed(()).choices
    changed = {group: name for group, name in defaults.choices.items() if name != usual[group]}
    before, missing = defaults.leaves, object()
    now = {key: value for key, value in leaves.items() if before.get(key, missing) != value}
    if leaves["steps"] is not None:
        now.pop("epochs", None)  # follows from steps
    return {**changed, **defaults.parts, **now}
