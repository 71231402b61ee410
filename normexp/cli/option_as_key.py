"""An option that was typed as a key is: `format=csv` for `--format csv`. It is said alike in every verb."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence

from normexp.cli.parser import Parser
from normexp.cli.unknown_option import flag_called, typed
from normexp.config.of_grids import OF_GRIDS
from normexp.config.options import keys_by_word
from normexp.config.text import shortened
from normexp.errors import UserError


def check_no_option(command: Parser, parsed: argparse.Namespace, left: Sequence[str]) -> None:
    """Raise UserError for a word NAME=VALUE that names an option of the verb, and neither a key nor a file.

    Args:
        left: the words that the verb has no use for.
    """
    options = command._option_string_actions
    for word in (*_placed(command, parsed), *left):
        key, equals, _ = word.lstrip("+~").partition("=")
        name, value, _ = typed(word.lstrip("+~"), [])
        flag = flag_called(name, options) if equals and not word.startswith("-") else None
        if flag is None or key in keys_by_word().values() or key in OF_GRIDS or os.path.lexists(word):
            continue
        meant = flag if options[flag].nargs == 0 else f"{flag} {shlex.quote(shortened(value))}"
        kind = "an option, not a key" if flag[2:].replace("-", "_") == name else "no key"
        raise UserError(f"{shortened(word)}: {shortened(key)} is {kind}; did you mean {meant}?")


def _placed(command: Parser, parsed: argparse.Namespace) -> Iterator[str]:
    """Yield the words that no option took."""
    for action in command._actions:
        if not action.option_strings:
            given = getattr(parsed, action.dest)
            yield from [given] if isinstance(given, str) else given or ()
