"""The command line: from its words to the function of a verb. Nothing heavy is imported at module level."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import re
import shlex
import sys
from collections.abc import Container, Sequence
from itertools import pairwise, takewhile

from normexp.cli.command_line import KINDS, VERBS, flags, parsers
from normexp.cli.commands_elsewhere import hint_of
from normexp.cli.hydra_habits import as_typed_here
from normexp.cli.log import logger, logging_to_stderr
from normexp.cli.parser import Incomplete, Parser
from normexp.cli.streams import flush_or_let_go, give_streams, let_go, replace_unknown_characters, takes_no_more
from normexp.config.places import place
from normexp.config.text import shortened
from normexp.errors import (
    Interrupted,
    Several,
    Submitted,
    UserError,
    came_of_interrupt,
    check_current_folder,
    check_system,
    did_you_mean,
    kind_and_line,
    memory_line,
    nearest,
    raised_by,
    unknown,
)
from normexp.training.machine.cores import wait_briefly

_NO_PLACE = "No usable temporary directory"  # as Python says it
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # what a text program makes of one or two typed ones
_NOT_OURS = (  # what is wrong with a path, or the disk it is on
    *(errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR),
    *(errno.EROFS, errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0 done, 1 a run failed, 2 a mistake of the user, 130 interrupted."""
    give_streams()
    with logging_to_stderr():
        status = _main(list(sys.argv[1:] if arguments is None else arguments))
    flush_or_let_go(sys.stderr)
    return status


def _main(given: list[str]) -> int:
    debug = "--debug" in given
    wait_briefly()
    os.environ["MPLBACKEND"] = "agg"  # figures become files; matplotlib refuses to be imported with a name it lacks
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # what it says of its own folder and fonts is no news
    replace_unknown_characters()
    try:
        return _all_printed([_at_home(word) for word in given if word != "--debug"])
    except UserError as error:
        if debug:
            raise
        for line in str(error).split("\n") if isinstance(error, Several) else [str(error)]:
            logger.error(line)
        return 2
    except Submitted as elsewhere:
        logger.info(str(elsewhere))
        return 0
    except Interrupted as stopped:
        logger.error(str(stopped))
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `normexp list | head`
        let_go(sys.stdout)
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if debug and isinstance(error, Exception):
            raise
        line, status = _of_failure(error)
        logger.error(line)
        return status


def _all_printed(words: list[str]) -> int:
    """Run a command and flush what it printed: here, where it can still be said that this failed."""
    try:
        status = _dispatch(words)
    except SystemExit as helped:  # argparse printed --help
        status = int(helped.code or 0)
    sys.stdout.flush()
    return status


def _of_failure(error: BaseException) -> tuple[str, int]:
    """Return the line and the exit status of an error that is no mistake in the words of the command."""
    if came_of_interrupt(error):
        return "interrupted", 130
    if isinstance(error, OSError) and error.errno in _NOT_OURS:
        if error.filename:
            return f"{error.filename}: {error.strerror}", 2
        if takes_no_more(sys.stdout):
            let_go(sys.stdout)
            return f"standard output: {error.strerror}", 2
    if isinstance(error, OSError) and _NO_PLACE in str(error.__cause__ or error):  # matplotlib passes it on
        return "no folder takes temporary files; set TMPDIR to one that can be written", 2
    if line := memory_line(error):
        return line, 2
    return f"failed: {kind_and_line(error)} (--debug shows the traceback)", 1


def _at_home(word: str) -> str:
    """Expand the ~ of KEY=~/PATH, which a shell leaves as it is; ~y is a column. Raises UserError as `place` does."""
    key, equals, value = word.partition("=")
    if not equals or not ((value.startswith("~") and "/" in value) or key == "results_dir"):
        return word
    return f"{key}={place(key, value)}"


def _dispatch(arguments: list[str]) -> int:
    parser, commands = parsers()
    if not arguments:
        raise UserError(f"no command; give one of {', '.join(VERBS)} (normexp --help says what they do)")
    verb, *rest = arguments
    if verb in flags(parser):
        _check_alone(verb, rest)
        parser.parse_args([verb])  # prints and exits
    _check_dashes("", [verb], flags(parser))
    if verb.startswith("-"):
        meant = "--version" if verb in ("-v", "-V") else _as_setting(verb, rest)
        raise unknown("option", verb, [*flags(parser), "--debug"], meant)
    if verb not in VERBS:
        raise UserError(f"no command {verb!r}; allowed: {', '.join(VERBS)}{_meant(verb, rest)}")
    if rest == ["help"] and not os.path.lexists("help"):
        raise UserError(f"{verb}: 'help' is nothing that it takes; did you mean `normexp {verb} --help`?")
    _check_none_empty(verb, rest)
    check_system()
    if verb != "completion":
        check_current_folder()
    parsed = _parsed(verb, commands[verb], as_typed_here(rest) if verb in ("run", "sweep") else rest)
    try:
        return VERBS[verb].call(parsed)
    except SystemExit as ended:  # with status 0 it would count as done
        by = raised_by(ended)
        raise UserError(f"{verb}: code that it called ended the program (SystemExit: {ended.code}){by}") from None


def _parsed(verb: str, parser: Parser, words: list[str]) -> argparse.Namespace:
    """Return what was typed behind a verb. Raises UserError for what it does not take, and for a flag given twice."""
    _check_dashes(f"{verb}: ", words, flags(parser))
    words = _behind_dashes(words)
    try:
        parsed, left = parser.parse_known_intermixed_args(words)  # flags may stand between overrides
    except Incomplete as error:
        raise _unknown_before(verb, words, parser) or error from None
    if any("=" in word for word in words):
        from normexp.cli.option_as_key import check_no_option

        check_no_option(parser, parsed, left)
    if left:
        raise _left_over(verb, left, words, parser)
    parser.check_once(words)
    return parsed


def _check_alone(flag: str, rest: Sequence[str]) -> None:
    """Raise UserError for a word behind --help or --version, which would be passed over."""
    if rest:
        meant = f"`normexp {rest[0]} {flag}`" if rest[0] in VERBS and flag in ("--help", "-h") else None
        raise UserError(f"{flag}: {shortened(rest[0])!r} is one argument too many{did_you_mean(meant)}")


def _behind_dashes(words: Sequence[str]) -> list[str]:
    """Return the words without `--`, and what begins with a dash behind it as a path.

    argparse, where flags may stand between overrides, forgets the two dashes and takes the path for an option.
    """
    before = list(takewhile(lambda word: word != "--", words))
    return before + [f"./{word}" if word.startswith("-") else word for word in words[len(before) + 1 :]]


def _check_dashes(where: str, words: Sequence[str], known: Container[str]) -> None:
    """Raise UserError for an option behind a dash that a text program made of two: it would pass for a path."""
    for word in words:
        name, equals, value = word.lstrip(f"-{_DASHES}").partition("=")
        flag = next((each for each in (f"--{name}", f"-{name}") if each in known), None)
        if flag and word.startswith(tuple(_DASHES)):
            meant = did_you_mean(shlex.quote(shortened(f"{flag}{equals}{value}")))
            raise UserError(f"{where}{shortened(word)!r} begins with another dash than options have{meant}")


def _check_none_empty(verb: str, words: Sequence[str]) -> None:
    """Raise UserError for an empty word but behind --prompt: as a path it would be the current folder, or none."""
    for before, word in pairwise([verb, *words]):
        if (word == "" and before != "--prompt") or re.fullmatch("--(?!prompt)[a-z-]+=", word):
            option = (word or before).partition("=")[0]
            named = option if option.startswith("--") else "''"
            raise UserError(f"{verb}: {named} is empty; is a variable not set?")


def _meant(word: str, rest: Sequence[str]) -> str:
    """Return what may have been meant by a command that there is not: a setting, an experiment, a command."""
    from normexp.config.options import groups, options
    from normexp.config.overrides import written_apart

    if " " in word and word.split(" ")[0] in VERBS:  # a command in one variable, as zsh leaves it
        return did_you_mean(f"`normexp {shortened(word)}`, without quotes around all of it")
    words = [word, *(each for each in rest if each != "run")]
    option = next((f"{group}={word}" for group in groups() if word in options(group) and word != "none"), None)
    if "=" in word:
        return did_you_mean(shortened(f"`normexp run {shlex.join(words)}`"))
    if apart := written_apart(words[:3]):
        return did_you_mean(f"`normexp run {apart[1]}`")
    if word in options("experiment"):
        return did_you_mean(f"`normexp reproduce {word}`")
    if word in KINDS:
        return did_you_mean(f"`normexp list {word}`")
    if word in ("help", "version"):
        of_verb = f"{rest[0]} " if word == "help" and rest and rest[0] in VERBS else ""
        return did_you_mean(f"`normexp {of_verb}--{word}`")
    return hint_of(word) or did_you_mean(f"`normexp run {option}`" if option else nearest(word, VERBS))


def _as_setting(flag: str, rest: Sequence[str]) -> str | None:
    """Return the command that was meant by `--norm batch` in the place of a command; None for no key with a value."""
    from normexp.cli.unknown_option import NO_VALUE, keys_called, typed

    name, value, words = typed(flag, rest)
    key = keys_called(name).get(name)
    if not key or value == NO_VALUE or value in VERBS or any(word[:1] == "-" for word in words):
        return None
    verb = next((word for word in words if word in VERBS), "run")
    others = [word for word in words if word != verb]
    return shortened(f"`normexp {verb} {shlex.join([f'{key}={value}', *others])}`")


def _unknown_before(verb: str, words: Sequence[str], parser: Parser) -> UserError | None:
    """Build the error for the first option that does not exist, where words are missing, too; None where all do."""
    known = parser.all_flags()
    unknown_ones = [word for word in words if re.match("--?[A-Za-z]", word) and word.partition("=")[0] not in known]
    return _left_over(verb, unknown_ones, words, parser) if unknown_ones else None


def _left_over(verb: str, left: Sequence[str], words: Sequence[str], parser: Parser) -> UserError:
    """Say what is wrong with words that a verb has no use for."""
    from normexp.cli.unknown_option import unknown_option

    wrong = next((word for word in left if word.startswith("-")), None)
    if wrong is None:
        return UserError(f"{verb}: {shortened(left[0])!r} is one argument too many")
    return unknown_option(verb, wrong, words, [*flags(parser), "--debug"], {*parser.switches(), "--debug"})
