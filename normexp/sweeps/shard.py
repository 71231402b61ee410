"""`shard=2/5`: a sweep split by hand between machines that share nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from normexp.config.overrides import take_out
from normexp.config.text import shortened
from normexp.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """The `part`-th of `parts` parts, from 1."""

    part: int = 1
    parts: int = 1


WHOLE = Shard()


def take_shard(words: Sequence[str]) -> tuple[Shard, list[str]]:
    """Take `shard=I/N` out of the overrides. Raises UserError where it is no part of N."""
    given, rest = take_out(words, "shard")
    if not given:
        return WHOLE, rest
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", given[-1])
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"shard={shortened(given[-1])}: must be I/N with I in [1, N]; the first of five parts is 1/5")
    return Shard(int(match[1]), int(match[2])), rest


def in_shard(cells: Sequence[T], shard: Shard) -> list[T]:
    """Return every N-th cell, so that each part has its share of the slow ones."""
    return list(cells[shard.part - 1 :: shard.parts])
