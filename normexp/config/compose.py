"""Overrides as typed (`norm=batch optim.lr=0.3`) -> one checked, resolved configuration.

Hydra composes the groups and parses the override grammar; every check is ours, so that each mistake is one
line with the nearest valid name (Hydra accepts `+typo=1` and `epochs=abc`).
"""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import yaml

from normexp.config.allowed import parse
from normexp.config.identity import FILES, identity
from normexp.config.options import config_dir, groups, is_description, options, without_descriptions
from normexp.config.parts import take_parts
from normexp.config.rules import check_rules
from normexp.errors import UserError, nearest

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


_PATH = re.compile(r"(~|\.{0,2}/|[A-Za-z]:\\)")  # begins a path, here or on Windows
_PLAIN = re.compile(r"[A-Za-z/_][A-Za-z0-9_./:-]*")  # texts that need no quotes in Hydra's grammar,
_WORDS = ("null", "true", "false", "nan", "inf")  # but for those that mean something else


@dataclass(frozen=True)
class Config:
    """One resolved, checked configuration.

    Args:
        values: nested options as a run uses them; every group keeps its `_target_`.
        choices: group -> chosen option; of a scheme of the user's own, its target.
        changes: dotted key or group -> value, for all that differs from the defaults.
    """

    values: dict[str, Any]
    choices: dict[str, str]
    changes: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @cached_property
    def identity(self) -> str:
        return identity(self.changes)

    @property
    def name(self) -> str:
        """The run directory's name: readable first, unique by its last part."""
        study = [] if self.choices["study"] == "none" else [self.choices["study"]]
        parts = (self.choices["dataset"], self.choices["model"], self.choices["norm"])
        return "-".join((*study, *parts, f"seed{self['seed']}", self.identity))

    @property
    def overrides(self) -> list[str]:
        """The overrides that make this configuration again from the defaults."""
        return [f"{key}={override_text(value)}" for key, value in self.changes.items()]

    @property
    def arguments(self) -> list[str]:
        """The same, quoted as a shell wants them."""
        return [shlex.quote(override) for override in self.overrides]

    def to_yaml(self) -> str:
        """Return config.yaml: the resolved options, the choices and the changes.

        Of a local file only its name is told: a record may travel, and folders are nobody's business.
        """
        values, changes = copy.deepcopy(self.values), dict(self.changes)
        for key in FILES:
            group, _, leaf = key.partition(".")
            if values[group].get(leaf) is not None:
                changes[key] = values[group][leaf] = PurePath(values[group][leaf]).name
        content = {**values, "_choices_": self.choices, "_changes_": changes}
        header = f"# normexp run {' '.join(replace(self, changes=changes).arguments)}".rstrip()
        return f"{header}\n{yaml.safe_dump(content, sort_keys=False, allow_unicode=True)}"


def compose(overrides: Sequence[str]) -> Config:
    """Compose and check one configuration. Raises UserError for anything that cannot work."""
    parsed = [_checked(override) for override in parse_overrides(overrides)]
    choices = {o.key_or_group: _option(o.key_or_group, o.value()) for o in parsed if o.key_or_group in groups()}
    defaults, about, all_choices = _composed(tuple(sorted(choices.items())))
    given = {o.key_or_group: _plain(o.value()) for o in parsed if o.key_or_group not in groups()}
    typed = {o.key_or_group: (o.input_line or "").partition("=")[2] for o in parsed}
    defaults, about = copy.deepcopy(defaults), dict(about)  # both are cached
    parts, about["norm"] = take_parts(defaults["norm"], about["norm"], given)
    values = copy.deepcopy(defaults)
    _use_own_target(values, about, given)
    for key, value in given.items():
        _set(values, key, _value(key, value, typed[key], values, about))
    _steps_or_epochs(values, given)
    check_rules(values, all_choices, about)
    named = all_choices if about["norm"] else {**all_choices, "norm": values["norm"]["_target_"]}
    return Config(values, named, _changes(values, defaults, all_choices, parts))


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Return the overrides in Hydra's terms. Raises UserError for what is not `key=value`."""
    return [_parsed(text) for text in overrides]


def _parsed(text: str) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    key, _, value = text.partition("=")
    attempts = [text]
    if _PATH.match(value):  # Hydra's grammar has no word with brackets, accents or quotes in it; folders' names have
        attempts.append(f"{key}={_quoted(value)}")
    for attempt in attempts:
        try:
            (override,) = OverridesParser.create().parse_overrides([attempt])
        except HydraException:
            continue
        return override
    raise UserError(f"{text!r} is not key=value{_example(text)}")


def _example(text: str) -> str:
    """Return what was probably meant: the group of an option that was named alone, or a quoted list."""
    for group in groups():
        if text in options(group):
            return f"; did you mean {group}={text}?"
    return "; write norm=batch, and quote lists: 'model.widths=[100,100]'"


def _checked(override: Override) -> Override:
    text = override.input_line
    if override.package is not None:
        raise UserError(f"{text}: an option has one place; drop the @{override.package}")
    if override.is_add() or override.is_force_add():
        raise UserError(f"{text}: new keys cannot be added; drop the + to set a key that exists")
    if override.is_delete():
        raise UserError(f"{text}: keys cannot be deleted; set an option instead (for example norm=none)")
    if override.is_sweep_override():
        raise UserError(f"{text}: `normexp run` trains one configuration, so one value is allowed here")
    return override


def _option(group: str, name: Any) -> str:
    if str(name) in options(group):
        return str(name)
    allowed = options(group)
    raise UserError(f"{group}={name} does not exist; allowed: {', '.join(allowed)}{nearest(str(name), allowed)}")


@cache
def _composed(chosen: tuple[tuple[str, str], ...]) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Return (values, descriptions per group, choices) of the given options, by Hydra's composition."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf, open_dict

    with initialize_config_dir(str(config_dir()), version_base="1.3"):
        overrides = [f"{group}={name}" for group, name in chosen]
        composed = hydra_compose("config", overrides, return_hydra_config=True)
    picked = composed.hydra.runtime.choices
    with open_dict(composed):
        del composed["hydra"]
    tree = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(tree, dict)
    about = {group: {k: v for k, v in tree[group].items() if is_description(k)} for group in groups()}
    about[""] = {key: value for key, value in tree.items() if is_description(str(key))}
    return without_descriptions(tree), about, {group: str(picked[group]) for group in groups()}


def _use_own_target(values: dict[str, Any], about: dict[str, Any], given: dict[str, Any]) -> None:
    """Let `norm._target_=my_norms.MyNorm plugins=[my_norms]` replace the scheme and its parameters."""
    target = given.get("norm._target_")
    if target is None:
        return
    plugins = given.get("plugins") or []
    if not any(str(target).startswith(f"{plugin}.") for plugin in plugins):
        raise UserError(f"norm._target_={target}: code outside normexp must be named: add plugins=[MODULE]")
    own = {key.removeprefix("norm."): None for key in given if key.startswith("norm.")}
    values["norm"] = {**own, "_target_": str(target)}
    about["norm"] = {}


def _value(key: str, value: Any, typed: str, values: dict[str, Any], about: dict[str, Any]) -> Any:
    """Check one value against its key's default and specification; return it in the right type.

    A text is what was typed: `results_dir=1e3` is no number.
    """
    leaves = flat(values)
    if key not in leaves:
        raise _unknown_key(key, [*leaves, *(f"norm.{part}" for part in about["norm"].get("_parts_", {}))])
    group, _, rest = key.partition(".")
    if rest.endswith("_target_") and key != "norm._target_":
        raise UserError(f"{key}: only norm._target_ may name code of your own")
    if group == "norm" and not about["norm"]:  # the user's own scheme checks its own parameters
        return value
    allowed = about[group].get("_allowed_", {}) if rest else about[""]["_allowed_"]
    rule = parse(allowed.get(rest or key), leaves[key])
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return rule.check(key, typed if rule.kind == "str" and not rule.is_list and number else value)


def _unknown_key(key: str, leaves: Sequence[str]) -> UserError:
    """Name the nearest key: by the whole path, else by its last part (`train.eposch` is near `epochs`)."""
    names = [*groups(), *(leaf for leaf in leaves if not leaf.endswith("_target_"))]
    hint = nearest(key, names)
    if not hint:
        last = {name.rpartition(".")[2]: name for name in names}
        close = nearest(key.rpartition(".")[2], last)
        hint = close and f"; did you mean {last[close[len('; did you mean ') : -1]]}?"
    group = key.partition(".")[0]
    if group in groups():
        inside = [leaf for leaf in names if leaf.startswith(f"{group}.")]
        return UserError(f"key {key!r} does not exist; allowed: {', '.join(inside) or 'none'}{hint}")
    roots = [leaf for leaf in names if "." not in leaf]
    return UserError(f"key {key!r} does not exist; allowed: {', '.join(roots)} and GROUP.KEY{hint}")


def _steps_or_epochs(values: dict[str, Any], given: dict[str, Any]) -> None:
    if given.get("steps") is not None and given.get("epochs") is not None:
        raise UserError(f"epochs={given['epochs']} steps={given['steps']}: give one of the two")
    if values["steps"] is not None:
        values["epochs"] = None
    elif values["epochs"] is None:
        raise UserError("epochs=null: give epochs or steps")


def _changes(
    values: dict[str, Any], defaults: dict[str, Any], choices: dict[str, str], parts: dict[str, Any]
) -> dict[str, Any]:
    usual = _composed(())[2]
    changed = {group: name for group, name in choices.items() if name != usual[group]}
    before, missing = flat(defaults), object()
    now = {key: value for key, value in flat(values).items() if before.get(key, missing) != value}
    if values["steps"] is not None:
        now.pop("epochs", None)  # follows from steps
    return {**changed, **parts, **now}


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return {dotted key: value}; a list is one value."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return leaves


def _set(tree: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for parent in parents:
        tree = tree[parent]
    tree[leaf] = value


def _plain(value: Any) -> Any:
    """Return Hydra's parsed value as plain Python (a quoted string becomes its text)."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return getattr(value, "text", value)


def override_text(value: Any) -> str:
    """Return a value in Hydra's override grammar."""
    if isinstance(value, list):
        return f"[{','.join(override_text(item) for item in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str) or (_PLAIN.fullmatch(value) and value.lower() not in _WORDS):
        return str(value)
    return _quoted(value)


def _quoted(text: str) -> str:
    from hydra.core.override_parser.types import Quote, QuotedString

    return QuotedString(text, Quote.double).with_quotes()
