"""`normexp completion`: a shell's script, and what it asks for at every Tab."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from normexp.errors import unknown

SHELLS = ("bash", "zsh", "fish")
ANSWERS = "candidates"


def completion(arguments: argparse.Namespace) -> int:
    """Print the script of a shell, or what the last of the words on standard input, one a line, may become."""
    if arguments.shell == ANSWERS:
        return _answer(sys.stdin.read().split("\n")[:-1])
    if arguments.shell not in SHELLS:
        raise unknown("completion:", arguments.shell, SHELLS)
    path = Path(__file__).parent / "shells" / f"normexp.{arguments.shell}"
    print(path.read_text(encoding="utf-8"), end="")
    return 0


def _answer(words: list[str]) -> int:
    from normexp.cli.candidates import candidates

    for name, about in candidates(words):
        print(f"{name}\t{about}" if about else name)
    return 0
