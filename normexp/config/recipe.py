"""What a practitioner would choose for a data set and a network: `run` and `sweep` start from it, under what is typed.

The values stand as `_recipe_` in config.yaml, in a data set's and in a network's option; the later wins. Experiments,
studies and the bench start from the bare defaults: what they set is written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from normexp.config.allowed import Allowed
from normexp.config.options import groups, option, options, root, usual_options
from normexp.config.parts import TARGET
from normexp.config.text import override_text
from normexp.errors import UserError

KEY, NONE = "recipe", "none"
ABOUT = "_recipe_"
CHOOSE = ("dataset", "model")  # the groups whose options have recipes


@dataclass(frozen=True)
class Item:
    """One setting of a recipe.

    Args:
        origin: the option that it belongs to, `dataset=cifar10`; `config.yaml` for all.
    """

    value: Any
    origin: str


def with_recipe(overrides: Sequence[str]) -> list[str]:
    """Return overrides on top of their recipe.

    Raises: UserError for another `recipe=` than auto and none, and for two keys of which a run would take one.
    """
    typed = [text for text in overrides if not text.startswith(f"{KEY}=")]
    return [*texts(recipe(overrides)), *typed]


def recipe(overrides: Sequence[str]) -> dict[str, Item]:
    """Return the settings that these overrides leave to the recipe; none for a study, or with `recipe=none`."""
    given = dict(text.partition("=")[::2] for text in overrides)
    wish = Allowed(choices=("auto", NONE)).check(KEY, given.get(KEY, "auto"))
    if wish == NONE:
        return {}
    _check_evaluations(given)
    if given.get("study", NONE) != NONE:
        return {}
    found: dict[str, Item] = {}
    for origin, settings in _layers(given):
        kept = left_by(settings, found)
        found = {**{key: found[key] for key in kept}, **{key: Item(value, origin) for key, value in settings.items()}}
    typed = [key for key in given if key not in CHOOSE]
    return {key: found[key] for key in left_by(typed, found) if key not in given}


def _check_evaluations(given: Mapping[str, str]) -> None:
    """Refuse both ways to say how often a run is evaluated.

    Experiments lay one over the other, and what a record or its command says has the recipe in it: as it is, it is run.
    """
    every, per_epoch = (given.get(key, "null") for key in ("eval_every", "evals_per_epoch"))
    if "null" not in (every, per_epoch):
        raise UserError(f"eval_every={every} evals_per_epoch={per_epoch}: give one of the two")


def texts(settings: Mapping[str, Item]) -> list[str]:
    """Return the settings as overrides."""
    return [f"{key}={override_text(item.value)}" for key, item in settings.items()]


def described(settings: Mapping[str, Item]) -> str:
    """Return one line for the log that shows what nobody typed."""
    return f"recipe: {' '.join(texts(settings))} ({KEY}={NONE} leaves it out)"


@contextmanager
def naming(settings: Mapping[str, Item]) -> Iterator[None]:
    """Let an error that speaks of a setting of the recipe say whose it is: nobody typed it."""
    try:
        yield
    except UserError as error:
        if (message := with_names(str(error), settings)) == str(error):
            raise
        raise type(error)(message) from error


def with_names(message: str, settings: Mapping[str, Item]) -> str:
    """Return an error's line, and which setting that it speaks of is of the recipe."""
    fault = message.partition("; did you mean")[0]
    said = [text for text in texts(settings) if re.search(rf"(?<![\w.]){re.escape(text)}(?![\w.])", fault)]
    return f"{message}; {said[0]} is of the recipe ({KEY}={NONE} leaves it out)" if said else message


def left_by(given: Iterable[str], settings: Iterable[str]) -> list[str]:
    """Return the keys of settings under keys that win over them: a group wins with its keys, epochs over steps."""
    given = set(given)
    taken = {key for key in (name.removesuffix(f".{TARGET}") for name in given) if key in groups()}
    rest = [key for key in settings if key not in given and key.partition(".")[0] not in taken]
    return [key for key in rest if not (key in ("epochs", "steps") and given & {"epochs", "steps"})]


def _layers(given: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the recipe for all, that of the data set and that of the network, which the data set's may choose."""
    chosen = usual_options()
    yield "config.yaml", root().get(ABOUT, {})
    for group in CHOOSE:
        name = given.get(group, chosen[group])
        if name in options(group) and f"{group}.{TARGET}" not in given:
            settings = option(group, name).get(ABOUT, {})
            chosen = {**chosen, **settings}
            yield f"{group}={name}", settings
