"""What may follow in a command line: commands, flags, experiments, groups, options, keys and their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from normexp.cli.command_line import parsers
from normexp.cli.measure_parsers import SUITES
from normexp.cli.parser import Parser, Verbs
from normexp.config.allowed import parse
from normexp.config.of_grids import OF_GRIDS
from normexp.config.options import config_dir, groups, keys_of, option, options, root, usual_options
from normexp.config.text import shown
from normexp.evidence.scales import SCALES
from normexp.experiments.keys import LAWS, LEDGER, RENDER, REPORT, REPRODUCE

Candidates = Iterable[tuple[str, str]]  # a word, and a line about it

GRIDS = ("sweep",)  # take several values of a key
TRAINING = ("run", *GRIDS)
NAMING = {"reproduce": REPRODUCE, "report": RENDER, "freeze": RENDER, "claims": LEDGER, "laws": LAWS, "archive": REPORT}
OF_RUNS = {"recipe": ("auto", "none")}  # words that are no keys, and what they may be
OF_SWEEPS = {key: words for key, words in OF_GRIDS.items() if key != "executor"}  # which is completed as a group is
TABLES, PICTURES = ("md", "csv", "tex", "html"), ("png", "svg", "pdf")
FORMATS = {"table": TABLES, "best": TABLES, "plot": PICTURES, "report": PICTURES}
STYLES = ("page", "paper", "slide")


def candidates(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return what the last word may become, with a line about each; nothing where only a path can stand.

    Where no path can, either, as behind `optim.lr=`, it is one empty word with a line about what can.

    Args:
        words: what is typed after `normexp`, the last one in part, or empty where a new word begins.
    """
    *before, word = words or [""]
    parser, commands = parsers()
    if not before:
        found: Candidates = _commands(parser)
    elif (command := commands.get(before[0])) is None:
        found = []
    else:
        found = _of_command(command, before[0], before[1:], word)
    fitting = [(name, about) for name, about in found if name.startswith(word)]
    return fitting or ([("", hint)] if (hint := _hint(before, word)) else [])


def _hint(before: Sequence[str], word: str) -> str:
    """Say what can stand in `run`, `sweep` or `check` where no path can; empty where one can, as behind --config."""
    if not before or before[0] not in (*TRAINING, "check") or before[-1].startswith("-"):
        return ""
    key, equals, _ = word.partition("=")
    if not equals:
        return "a group or a key"
    return "an option, or MODULE.NAME of your own" if key in _all_groups(True) else _rule(key, before)


def _rule(key: str, before: Sequence[str]) -> str:
    """Say what a key takes and what it usually is; empty where it takes any text, or is not known."""
    name, tree = key.rpartition(".")[2], next(_trees_with(key, before), {})
    rule = parse(tree.get("_allowed_", {}).get(name), tree.get(name))
    any_text = rule.kind == "str" and not rule.choices and not rule.is_list
    return "" if any_text else f"{rule.describe()}; usual: {shown(tree[name])}"


def _commands(parser: Parser) -> Iterator[tuple[str, str]]:
    for verbs in (action for action in parser._actions if isinstance(action, Verbs)):
        yield from ((verb.dest, verb.help or "") for verb in verbs._get_subactions())
    yield from _flags(parser)


def _flags(parser: Parser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        yield from ((flag, action.help or "") for flag in action.option_strings if flag.startswith("--"))


def _of_command(command: Parser, verb: str, before: Sequence[str], word: str) -> Candidates:
    valued = [flag for action in command._actions if action.nargs is None for flag in action.option_strings]
    if before and before[-1] in valued:
        return _plain({"--format": FORMATS.get(verb, ()), "--style": STYLES}.get(before[-1], ()))
    if word.startswith("-"):
        return _flags(command)
    if verb in TRAINING:
        return _settings(before, word, several=verb in GRIDS or "-m" in before or "--multirun" in before)
    if verb == "check":
        return _of_group("norm", before, word)
    if verb in NAMING:
        return [*_experiments(), *_of_experiments(NAMING[verb], before, word)]
    return _literal(command, verb, sum(not given.startswith("-") for given in before))


def _literal(command: Parser, verb: str, place: int) -> Candidates:
    """Return the words that a command's help gives as they are typed: records|resume|drift."""
    if verb == "bench":
        return _plain(SUITES)
    shown = [str(action.metavar) for action in command._actions if not action.option_strings]
    return _plain(name for name in shown[place].split("|") if name.islower()) if place < len(shown) else []


def _plain(names: Iterable[str]) -> Candidates:
    return ((name, "") for name in names)


def _experiments() -> Iterator[tuple[str, str]]:
    return ((name, _title(name)) for name in options("experiment"))


def _title(experiment: str) -> str:
    """Return an experiment's title from the first lines of its file, which is long."""
    with (config_dir() / "experiment" / f"{experiment}.yaml").open(encoding="utf-8") as file:
        return next((line[len("title: ") :].strip() for line in file if line.startswith("title: ")), "")


def _of_experiments(keys: Sequence[str], before: Sequence[str], word: str) -> Candidates:
    key, equals, _ = word.partition("=")
    if (group := key.partition(".")[0]) == "executor" and group in keys and (equals or key != group):
        return _of_group(group, before, word)
    if not equals:
        return _plain(f"{name}=" for name in keys)
    if key not in keys:
        return []
    words = {"scale": SCALES, **OF_SWEEPS}.get(key)
    return _of_key(key, []) if words is None else _plain(f"{key}={each}" for each in words)


def _settings(before: Sequence[str], word: str, several: bool) -> Candidates:
    """Return groups and keys, or what may follow a key's `=`; in a grid also after a comma."""
    key, equals, value = word.partition("=")
    if not equals:
        return _keys(before, word, several)
    if key in (words := _words(several)):
        return _plain(f"{key}={each}" for each in words[key])
    start = f"{value.rpartition(',')[0]}," if several and "," in value else ""
    found = _of_group(key, before, word) if key in _all_groups(several) else _of_key(key, before)
    return ((f"{key}={start}{name.partition('=')[2]}", about) for name, about in found)


def _words(several: bool) -> Mapping[str, Sequence[str]]:
    return {**OF_RUNS, **OF_SWEEPS} if several else OF_RUNS


def _all_groups(several: bool) -> tuple[str, ...]:
    return (*groups(), "executor") if several else groups()


def _keys(before: Sequence[str], word: str, several: bool) -> Iterator[tuple[str, str]]:
    """Yield groups and top-level keys, and the keys of a group once its name stands there."""
    whole = root()
    for group in _all_groups(several):
        yield f"{group}=", ""
        if word.startswith(group):
            yield from ((f"{key}=", "") for key in _keys_of(group, before))
    yield from _plain(f"{key}=" for key in _words(several))
    yield from ((f"{key}=", whole["_about_"].get(key, "")) for key in keys_of(whole))


def _of_group(group: str, before: Sequence[str], word: str) -> Candidates:
    """Return a group's options, or its keys where there is a dot."""
    if not word.startswith(f"{group}."):
        return ((f"{group}={name}", str(option(group, name).get("_about_", ""))) for name in options(group))
    if "=" in word:
        return _of_key(word.partition("=")[0], before)
    return _plain(f"{key}=" for key in _keys_of(group, before))


def _chosen(group: str, before: Sequence[str]) -> list[str]:
    """Return the options of a group that are typed, else the usual one."""
    typed = [word.partition("=")[2] for word in before if word.startswith(f"{group}=")]
    names = typed[-1].split(",") if typed else [usual_options().get(group, "")]
    return [name for name in names if name in options(group)]


def _keys_of(group: str, before: Sequence[str]) -> list[str]:
    found = (f"{group}.{key}" for name in _chosen(group, before) for key in keys_of(option(group, name)))
    return list(dict.fromkeys(found))


def _of_key(key: str, before: Sequence[str]) -> Candidates:
    """Return the values of a key of a group, or of one at the top, where they are words."""
    return next((_values(key, key.rpartition(".")[2], tree) for tree in _trees_with(key, before)), [])


def _trees_with(key: str, before: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the options that are chosen and have a key, or the configuration itself where it has."""
    group, dot, name = key.rpartition(".")
    named = _chosen(group, before) if group in _all_groups(True) else []
    trees = [option(group, each) for each in named] if dot else [root()]
    return (tree for tree in trees if name in tree)


def _values(key: str, name: str, tree: Mapping[str, Any]) -> Candidates:
    if (allowed := tree.get("_allowed_", {}).get(name)) is None:
        return _plain(f"{key}={value}" for value in ("true", "false") if isinstance(tree.get(name), bool))
    return _plain(f"{key}={value}" for value in parse(allowed, tree.get(name)).choices)
