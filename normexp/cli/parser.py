"""The parser that every verb has."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any, NoReturn

from normexp.errors import UserError

Verbs = argparse._SubParsersAction  # what add_subparsers returns; argparse has no public name for it


class Incomplete(UserError):
    """Words are missing that a verb needs."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and which takes no flag cut short."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        message = re.sub(
            r"^argument (.+): ignored explicit argument (.+)$", r"\1 takes no value, and \2 is given", message
        )
        verb = self.prog.partition(" ")[2]
        kind = Incomplete if "arguments are required" in message else UserError
        raise kind(f"{verb}: {message}" if verb else message)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print --help or --version; argparse would keep to itself that a disk is full."""
        (file or sys.stderr).write(message)

    def check_once(self, words: Sequence[str]) -> None:
        """Raise UserError for an option that is given two values, of which argparse keeps the last."""
        stored = [action for action in self._actions if isinstance(action, argparse._StoreAction)]
        flags = {flag for action in stored for flag in action.option_strings}
        given = [flag for word in words if (flag := word.partition("=")[0]) in flags]
        if twice := next((flag for flag in given if given.count(flag) > 1), None):
            self.error(f"{twice} is given twice; give it once")

    def all_flags(self) -> set[str]:
        """Return the flags of this parser and of those of its kinds (`verify records`)."""
        kinds = [action.choices.values() for action in self._actions if isinstance(action, Verbs)]
        own = {flag for action in self._actions for flag in action.option_strings}
        return own.union(*(kind.all_flags() for kind in chain(*kinds)))

    def switches(self) -> set[str]:
        """Return the flags that take no value."""
        return {flag for action in self._actions if action.nargs == 0 for flag in action.option_strings}


def add_names(command: Parser, about: str) -> None:
    """Let a verb take experiments and KEY=VALUE."""
    command.add_argument("names", nargs="*", metavar="NAME|KEY=VALUE", help=about)


def whole(text: str) -> int:
    """Read the value of an option that counts something."""
    try:
        return int(_decimal(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: must be an integer") from None


def number(text: str) -> float:
    """Read the value of an option that measures something."""
    try:
        return float(_decimal(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number") from None


def _decimal(text: str) -> str:
    """Return a text as it is. Raises ValueError for one that Python alone takes for a number: 1_0, or other digits."""
    if "_" in text or not text.isascii():
        raise ValueError
    return text
