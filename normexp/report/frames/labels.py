"""What an arm is called: its norm, then the keys that vary over the report. Deterministic order of arms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from normexp.config.text import as_item
from normexp.report.frames.options import NOTE, Options

NORMS = ("none", "batch", "recurrent_batch", "layer", "instance", "group", "weight", "mean_only", "weight_mean_only")
PLACES = ("dataset", "model")  # these get a column or a panel of their own


@dataclass(frozen=True)
class Labels:
    """The keys that vary over a set of arms, in the order in which a label shows them."""

    keys: tuple[str, ...]

    @classmethod
    def over(cls, arms: Sequence[Mapping[str, str]], changed: Collection[str]) -> Labels:
        """Find the keys that tell the arms apart.

        Args:
            arms: the options of every arm, by dotted key.
            changed: keys that somebody set: these show wherever they vary, also between options of a group
                (sgd with optim.lr=0.1 beside adam with optim.lr=0.01).
        """
        keys = {key for arm in arms for key in arm} - {"norm"}
        varying = [key for key in keys if _varies(key, arms, key in changed)]
        if NOTE in varying and _note_follows([key for key in varying if key.startswith("dataset.")], arms):
            varying.remove(NOTE)  # it is long, and the file is named already
        return cls(tuple(sorted(varying, key=lambda key: ("." in key, key not in PLACES, key))))

    @classmethod
    def among(cls, options: Iterable[Options | None]) -> Labels:
        """Find the keys that tell runs apart; one whose config could not be read has no options."""
        arms = {tuple(sorted(each.items())): each for each in options if each is not None}
        return cls.over(list(arms.values()), {key for arm in arms.values() for key in arm.changed})

    def short(self, arm: Mapping[str, str]) -> str:
        """Leave out data set and model, for outputs that show them elsewhere."""
        keys = [key for key in self.keys if key not in PLACES]
        # null and the empty note say "nothing set": the arms that did set the key show it
        parts = [setting(key, arm[key]) for key in keys if arm.get(key) not in (None, "null", "")]
        return ", ".join([arm["norm"], *parts])


def setting(key: str, value: str) -> str:
    """Return a key with its value as a part of an arm's name: a text with commas, which are between parts, in quotes.

    What is said of the data is no text that anybody types.
    """
    return f"{key}={value if key == NOTE else among_values(value)}"


def among_values(value: str) -> str:
    """Return a value as it stands between commas: a text with commas of its own in quotes, a list as it is."""
    return value if value.startswith(("[", "{")) else as_item(value)


def _varies(key: str, arms: Sequence[Mapping[str, str]], changed: bool) -> bool:
    """Tell whether a key belongs into the labels.

    Options of a group have keys and defaults of their own (adam's rate is not sgd's), which the option's name
    already says; so a key that nobody changed counts only where it differs under the same option.
    """
    if len({arm.get(key) for arm in arms}) == 1:
        return False
    group, dot, _ = key.rpartition(".")
    if not any(group in arm for arm in arms):  # it is no part of a scheme
        group = key.partition(".")[0]
    if key == NOTE:
        group = "dataset"
    elif not dot or (changed and not key.endswith("_target_")):
        return True
    values: dict[str | None, set[str | None]] = {}
    for arm in arms:
        values.setdefault(arm.get(group), set()).add(arm.get(key))
    return any(len(under_one_option) > 1 for under_one_option in values.values())


def _note_follows(others: Sequence[str], arms: Sequence[Mapping[str, str]]) -> bool:
    """Tell whether the other keys of an arm, with its data set, say already what its note says."""
    values: dict[tuple[str | None, ...], set[str | None]] = {}
    for arm in arms:
        values.setdefault(tuple(map(arm.get, ("dataset", *others))), set()).add(arm.get(NOTE))
    return bool(others) and all(len(each) == 1 for each in values.values())


def order(norm: str, label: str) -> tuple[int, str, list[tuple[int, float, str]]]:
    """Return the sort key of an arm: known norms first in their fixed order, numbers by size."""
    rank = NORMS.index(norm) if norm in NORMS else len(NORMS)
    return rank, norm, [_natural(part) for part in re.split(r"[,=\s\[\]]+", label)]


def _natural(part: str) -> tuple[int, float, str]:
    try:
        return 0, float(part), part
    except ValueError:
        return 1, 0.0, part
