"""`normexp check` and `bench`: a scheme against its contract, and how fast the program is."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from normexp.cli.streams import prints_beside_answer
from normexp.config.hints import path_hint
from normexp.config.options import options, said_by
from normexp.config.own import may_be_module
from normexp.config.text import shortened
from normexp.errors import UserError, did_you_mean, nearest


def check(arguments: argparse.Namespace) -> int:
    _check_one_scheme(arguments.overrides)
    from normexp.config import compose

    config = compose(list(arguments.overrides))
    from normexp.norms.checks.commands import check_command
    from normexp.training.build import build_norm

    scheme = config.choices["norm"]
    exact = said_by("norm", scheme, "_gradient_") != "approximate"
    mixes = said_by("norm", scheme, "_batch_statistics_") if scheme != "stack" else None  # its parts are anybody's
    flags = {"exact_gradient": exact, "mixes_examples": mixes, "full": arguments.full, "inductor": arguments.inductor}
    with prints_beside_answer():
        norm = build_norm(config)
        text, holds = check_command(norm, repr(norm), **flags)
    print(text)
    return 0 if holds else 1


def _check_one_scheme(given: Sequence[str]) -> None:
    """Raise UserError for words that are not those of one scheme."""
    if other := [word for word in given if not word.startswith(("norm=", "norm.", "plugins="))]:
        hint = path_hint("norm", other[0]) or did_you_mean(_meant(other))
        raise UserError(
            f"check: {shortened(other[0])!r} is no part of a scheme; "
            f"give norm=OPTION, norm.KEY=VALUE, plugins=[MODULE]{hint}"
        )
    if not any(word.startswith("norm") for word in given):
        raise UserError("check: no scheme given; give norm=OPTION (normexp list norms shows all)")
    from normexp.config.one_value import check_one
    from normexp.config.overrides import parse_overrides

    for override in parse_overrides([word for word in given if word.startswith("norm=")]):
        check_one(override, "check one scheme at a time")


def _meant(words: Sequence[str]) -> str | None:
    """Return a scheme that is named alone as it has to be typed, or a key that is spelt alike with its value."""
    if named := next((word for word in words if word in options("norm")), None):
        return f"norm={named}"
    if "." in words[0] and may_be_module(words[0]):  # my_norms.Scale
        return f"norm={words[0]}"
    key, equals, value = words[0].partition("=")
    group, dot, rest = key.partition(".")
    near = nearest(group, ("norm", "plugins")) if equals else None
    return near and shlex.quote(f"{near}{dot}{rest}={shortened(value)}")


def bench(arguments: argparse.Namespace) -> int:
    from normexp.bench.verb import bench
    from normexp.runs.signals import stops_as_ctrl_c

    with stops_as_ctrl_c():
        return bench(arguments.words, arguments.quick, arguments.rounds, arguments.out)
