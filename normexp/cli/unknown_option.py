"""A word with dashes that a verb does not know: a flag that is misspelt, or a key, which has none (`epochs=5`)."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterator, Mapping, Sequence

from normexp.cli.candidates import NAMING, TRAINING
from normexp.config.hints import KEYS, WHOLE, so_many_seeds, undecorated
from normexp.config.options import groups, keys_by_word, options_with
from normexp.config.text import shortened
from normexp.errors import UserError, did_you_mean, listed, nearest

SETTING = (*TRAINING, "table", "plot", "best", "check", "bench")  # take KEY=VALUE of a run, to train or to choose runs
NO_VALUE = "VALUE"  # stands where none was typed
LETTERS = {"f": ("--config", "--format", "--file"), "o": ("--out",), "j": ("--jobs",), "s": ("--save",)}
SWITCHES = {"n": ("--dry-run",), "q": ("--quiet",), "w": ("--watch",), "a": ("--all",)}  # take no value
OF_OTHERS = {"into": ("--out",), "out": ("--into",)}  # a flag of another verb -> that of the verb at hand
CALLED = {
    "table": {"baseline": "--against", "metric": "`normexp plot` or `normexp best`, which have --metric"},
    "completion": {shell: f"`normexp completion {shell}`" for shell in ("bash", "zsh", "fish")},
}
LIKE_FLAG, LIKE_KEY = 0.6, 0.75  # of difflib's ratio: among many keys something is always half as like


def unknown_option(
    verb: str, wrong: str, words: Sequence[str], flags: Sequence[str], switches: Container[str]
) -> UserError:
    """Build the one-line error for an option that does not exist, with the flag or the key that is nearest to it.

    Args:
        words: all that was typed after the verb: the value may follow the option.
        switches: the flags that take no value.
    """
    after = words[words.index(wrong) + 1 :] if wrong in words else []
    name, value, _ = typed(wrong, after)
    if meant := _flag(wrong, name, value, flags, switches):
        return UserError(f"{verb}: option {shortened(wrong)!r} does not exist; did you mean {meant}?")
    known = dict(_settings(verb, name, value))
    kind = f"{verb}: option {shortened(wrong)!r} does not exist"
    if name in known:
        return UserError(f"{kind}; did you mean {known[name]}?")
    if len(name) <= 1:
        return UserError(f"{kind}; allowed: {listed(flags, wrong)}")
    near = {flag.lstrip("-"): flag for flag in flags} | CALLED.get(verb, {})
    usual = [word for word, setting in known.items() if _is_usual(setting.strip("'").partition("=")[0])]
    if key := nearest(name, usual, LIKE_KEY) or nearest(undecorated(name), usual, LIKE_KEY):
        near[key] = known[key]
    close = nearest(name, near, LIKE_FLAG)
    return UserError(f"{kind}; allowed: {listed(flags, wrong)}{did_you_mean(near[close] if close else None)}")


def _flag(wrong: str, name: str, value: str, flags: Sequence[str], switches: Container[str]) -> str | None:
    """Return the flag that a letter of other programs stands for, or that reads a file of settings; with its value."""
    if value.endswith((".yaml", ".yml")) and "--config" in flags:
        return f"--config {shlex.quote(shortened(value))}"
    if called := flag_called(name, flags):
        return called if value == NO_VALUE or called in switches else f"{called} {shlex.quote(shortened(value))}"
    letter = wrong.partition("=")[0].removeprefix("-")
    if value == NO_VALUE:
        return next((flag for flag in (*SWITCHES.get(letter, ()), *LETTERS.get(letter, ())) if flag in flags), None)
    return next((f"{flag} {shlex.quote(shortened(value))}" for flag in LETTERS.get(letter, ()) if flag in flags), None)


def _settings(verb: str, name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield the words that may stand for a setting, and the setting as it has to be typed."""
    keys = keys_called(name) if verb in SETTING else {key: key for key in NAMING.get(verb, ())}
    yield from ((word, shlex.quote(shortened(f"{key}={value}"))) for word, key in keys.items())
    if seeds := so_many_seeds(value):
        yield "seeds", seeds
    if verb in TRAINING:
        yield from WHOLE.items()


def _is_usual(key: str) -> bool:
    """Tell a key that every run has from those of single options, of which hundreds are like any word."""
    return "." not in key.removeprefix("optim.")


def keys_called(name: str) -> Mapping[str, str]:
    """Return the words that name a key of a run -> the key; with the name as a whole, if an option has such a key."""
    ours = keys_by_word()
    group, _, rest = name.partition("." if "." in name else "_")
    whole = {name: f"{group}.{rest}"} if group in groups() and options_with(group, rest) else {}
    return {**{word: key for word, key in KEYS.items() if key in ours.values()}, **ours, **whole}


def typed(flag: str, after: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """Return what was typed for an option: its name as keys are spelt, its value, and the words that follow.

    Args:
        after: the words behind it, of which the first is its value where that is not behind its `=`.
    """
    name, equals, value = flag.lstrip("-").partition("=")
    if not equals and after and not after[0].startswith("-") and "=" not in after[0]:
        value, *after = after
    return name.casefold().replace("-", "_"), value or NO_VALUE, after


def flag_called(name: str, flags: Container[str]) -> str | None:
    """Return the flag of a verb that has a name as keys are spelt, or that does what the flag of another verb does."""
    called = (f"--{name.replace('_', '-')}", *OF_OTHERS.get(name, ()))
    return next((flag for flag in called if flag in flags), None)
