"""What is said of a key that does not exist: what there is, and what was meant, as it can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normexp.config.hints import WHOLE, key_hint, place_hint, undecorated
from normexp.config.of_grids import OF_GRIDS
from normexp.config.options import groups, keys_by_word, keys_of, option, options, options_with
from normexp.config.rules import read_by
from normexp.config.text import shortened
from normexp.errors import UserError, did_you_mean, nearest

ALIKE, VERY_ALIKE = 0.7, 0.75  # of difflib's ratio: of a hundred keys one is half as like any word
MISSPELT = 0.8  # so like that the key may be meant, though it cannot take the value or is another option's
KINDS = ("name", "type", "kind")  # what other programs call the key of the option itself
DEPTH = ("depth", "layers", "hidden_layers")
ORDER = ("optim", "model", "schedule", "init", "norm", "dataset")  # groups that a plain word may be of, likely first


@dataclass(frozen=True)
class Unknown:
    """A key that does not exist, as it was typed.

    Args:
        leaves: the keys that there are -> their values; the groups, too.
        choices: group -> chosen option.
        accepts: tells whether a key of these takes the value that was typed.
    """

    key: str
    text: str
    leaves: Mapping[str, Any]
    choices: Mapping[str, str]
    accepts: Callable[[str], bool]

    def error(self) -> UserError:
        """Name what was meant: a key of this configuration, the option that has the key, or a sweep."""
        group, _, rest = self.key.partition(".")
        if group in OF_GRIDS:
            return UserError(f"{shortened(f'{self.key}={self.text}')} is of a grid; use `normexp sweep`")
        place, said = place_hint(self.key, self.leaves), self._option(group, rest) or self._deeper()
        if group not in groups():
            allowed = ", ".join(name for name in self.leaves if "." not in name) + " and GROUP.KEY"
        else:
            of_group = (name for name in self.leaves if name.startswith(f"{group}."))
            allowed = ", ".join(of_group) or f"no key of {group}"
        hint = did_you_mean(self._typed(place) if place else said or self._meant())
        if group in groups() and not (place or said) and (having := self._options_with(group, rest)):
            usual = self._fitting(group, rest) or having[0]
            hint = f"; {' or '.join(having)} has it: {group}={usual} {self._typed(self.key)}"
        return UserError(f"key {shortened(self.key)!r} does not exist; allowed: {allowed}{hint}")

    def _option(self, group: str, key: str) -> str | None:
        """Return how an option is chosen that was given as a key of its group: norm.name=batch."""
        return f"{group}={self.text}" if key in KINDS and self.text in options(group) else None

    def _deeper(self) -> str | None:
        """Return the widths of as many layers as were asked for, where a network has widths in place of a depth."""
        widths, count = self.leaves.get("model.widths"), int(self.text) if self.text.isdecimal() else 0
        if not isinstance(widths, list) or undecorated(self.key.removeprefix("model.")) not in DEPTH:
            return None
        return shlex.quote(f"model.widths={[widths[-1]] * count}".replace(" ", "")) if 0 < count < 20 else None

    def _meant(self) -> str | None:
        """Return what was meant: a word of other programs, the last part of a key, or what is spelt alike."""
        last = self.key.rpartition(".")[2].lower()
        for word in dict.fromkeys((last, undecorated(last))):
            known = key_hint(word, self.text) or ""
            if word in WHOLE or " " in known:
                return WHOLE.get(word, known)
            group, _, key = known.rpartition(".")
            if having := list(self._having(key or word, [group] if group else self._among)):
                return " or ".join(having[:2])
        return None if last.startswith("_") else self._alike(last)

    @property
    def _among(self) -> tuple[str, ...]:
        """The groups that the key may be of: the one that was typed, where there is one."""
        group = self.key.partition(".")[0]
        return (group,) if group in groups() else tuple(dict.fromkeys((*ORDER, *groups())))

    def _alike(self, last: str) -> str | None:
        """Return a key that takes the value and begins or ends alike, or is spelt alike."""
        first = last.partition("_")[0]
        whole = len(self._among) > 1
        here = [name for name in self.leaves if whole or name.startswith(f"{self._among[0]}.")]
        taking = [name for name in here if self.accepts(name)]
        if longer := next((name for name in taking if name.startswith(f"{first}_") or last.endswith(f"_{name}")), None):
            return self._typed(longer)
        if whole and (close := nearest(self.key, (*OF_GRIDS, "recipe", *_of_executors()), VERY_ALIKE)):
            return self._typed(close)
        word = undecorated(last)
        words = {name.rpartition(".")[2]: name for name in taking}
        others = [name for name in keys_by_word() if name not in self.leaves]
        if close := nearest(word, words, VERY_ALIKE if whole else ALIKE):  # of the chosen option before another's
            return self._typed(words[close])
        if close := nearest(word, others, MISSPELT):
            return next(self._having(close, self._among), None)
        close = nearest(self.key if "." in self.key else word, taking, ALIKE)
        return self._typed(close) if close else None

    def _having(self, word: str, among: Sequence[str]) -> Iterator[str]:
        """Yield the keys of this last part as they are typed, with the option that has them where that is another."""
        if word in self.leaves:
            yield self._typed(word)
            return
        for group in among:
            key = f"{group}.{word}"
            if key in self.leaves:
                yield self._typed(key)
            elif group != "study" and (name := self._fitting(group, word)):
                yield f"{group}={name} {self._typed(key)}"

    def _fitting(self, group: str, key: str) -> str | None:
        """Return an option of a group that has a key, one that goes with the chosen data or network if there is one."""
        having = self._options_with(group, key)
        fitting = [name for name in having if self._reads({**self.choices, group: name})]
        chosen = fitting if group == "model" else fitting or having
        return next((name for name in chosen if name in key), None) or next(iter(chosen), None)

    def _options_with(self, group: str, key: str) -> list[str]:
        """Return the options of a group that have a key; for a list none in which it is one number or word."""
        listed = self.text.startswith("[")
        one = (bool, int, float, str)
        return [name for name in options_with(group, key) if not (listed and isinstance(option(group, name)[key], one))]

    def _reads(self, choices: Mapping[str, str]) -> bool:
        """Tell whether the network reads the data; one of the user's own may read any."""
        data, network = choices["dataset"], choices["model"]
        if data not in options("dataset") or network not in options("model"):
            return True
        return option("dataset", data)["_kind_"] in read_by(option("model", network).get("_accepts_", "any"))

    def _typed(self, key: str) -> str:
        """Return a key with the value as both are typed: in quotes where a shell would take them apart."""
        listed = isinstance(self.leaves.get(key), list) and not self.text.startswith("[")
        value = shortened(self.text)
        if key in groups() and value not in options(key) and value.casefold() in options(key):
            value = value.casefold()
        return shlex.quote(f"{key}=[{value}]" if listed else f"{key}={value}")


def _of_executors() -> list[str]:
    """Return the keys of all executors, which a sweep takes."""
    keys = dict.fromkeys(key for name in options("executor") for key in keys_of(option("executor", name)))
    return [f"executor.{key}" for key in keys]
