"""What figures call keys and schemes: in words, as a reader knows them, not as they are typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from normexp.config import groups, options
from normexp.config.options import said_by

AT = re.compile(r" at ([\w.]+)=(\S+)")  # a point of the grid, as claims write it
KEYS = {"lr": "learning rate", "batch_size": "batch size", "weight_decay": "weight decay", "num_groups": "groups"}
KEYS |= {"optim": "optimizer", "init": "initialization", "dataset.subset": "training examples"}
KEYS |= {"init.std": "initial deviation", "model.name": "network", "dataset.name": "text"}
KEYS |= {"evals_per_epoch": "evaluations per epoch", "eval_every": "evaluated every"}
KEYS |= {"norm.momentum": "momentum of the estimates"}  # optim.momentum is the one that everybody calls so
NAMED = ("norm", "optim")  # groups whose options say what they are called
BETWEEN = (", ", " + ")  # parts of an arm's name
QUOTED = r'"(?:[^"\\]|\\.)*"'
PARTS = re.compile(rf"""(?:{QUOTED}|\[(?:{QUOTED}|[^\]"])*\]|(?!, | \+ ).)+|, | \+ """, re.DOTALL)
BEHIND_PLUS = re.compile(r"(?<= \+ )[A-Z](?=[a-z]+ )")  # of several words; RMSNorm and Derf keep their initials
CODE = re.compile(r"\w+(\.\w+)+")  # my_norms.Scale
SETTING = re.compile(r"([a-z_]\w*(?:\.\w+)*)=(.+)", re.DOTALL)


def of_key(key: str) -> str:
    """Return what a key of the configuration is called: learning rate for optim.lr."""
    name = key.rpartition(".")[2]
    return KEYS.get(key) or KEYS.get(name) or name.replace("_", " ")


def of_arm(name: str) -> str:
    """Return an arm's name in words: `batch, optim.lr=0.1` is Batch norm, learning rate 0.1."""
    words = "".join(part if part in BETWEEN else _of_part(part) for part in PARTS.findall(name))
    return BEHIND_PLUS.sub(lambda initial: initial[0].lower(), words)


def _of_part(part: str) -> str:
    for group in NAMED:
        if part in options(group):
            return called(group, part) or part.replace("_", " ")
    if scheme := _scheme_spelled(part):
        return scheme
    setting = SETTING.fullmatch(part)
    if setting:
        return called(setting[1], setting[2]) or f"{of_key(setting[1])} {setting[2]}"
    return part if CODE.fullmatch(part) else part.replace("_", " ")


def renamed(names: Iterable[str]) -> dict[str, str]:
    """Return scheme -> what figures call it, of those in the names of arms that nobody knows again: rep_batch is RepBN.

    Layer norm is left out: it is `layer`, and norm.
    """
    parts = dict.fromkeys(part for name in names for part in PARTS.findall(name) if part in options("norm"))
    words = {part: called("norm", part) for part in parts}
    return {part: word for part, word in words.items() if not _root(part).startswith(_root(word))}


def _root(name: str) -> str:
    return _letters(name).replace("norm", "")


def _scheme_spelled(part: str) -> str:
    """Return what a scheme is called in every figure, for another spelling of it: RMSNorm for RMS norm.

    Capitals alone are left as they are, within an arm's name they may be small. Nothing for what is no scheme's name.
    """
    names = (called("norm", scheme) for scheme in options("norm"))
    return next((name for name in names if _letters(name) == _letters(part) and name.lower() != part.lower()), "")


def _letters(name: str) -> str:
    return re.sub("[ _-]", "", name.lower().replace("normalization", "norm"))


def called(group: str, name: str) -> str:
    """Return what an option says it is called; nothing where it says nothing, or for a key that is no group."""
    return str(said_by(group, name, "_called_") or "") if group in groups() else ""


def in_words(text: str) -> str:
    """Return a text in which `batch at batch_size=128` is `batch, batch size 128`."""
    return AT.sub(lambda match: f", {of_key(match[1])} {match[2]}", text)
