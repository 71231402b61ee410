"""`normexp bench`: run suites, print their tables, write them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

from normexp.bench.suites import ABOUT
from normexp.config import compose
from normexp.config.allowed import check_count
from normexp.config.overrides import check_once
from normexp.errors import UserError, unknown
from normexp.runs.run import check_writable

QUICK = ("steps", "start")
ROUNDS, FEWER = 7, {"growth": 3, "sweep": 3}
WITHOUT_ROUNDS = ("memory", "looks", "halving", "scale")
ANY_WORK = ("steps", "memory", "roofline")  # suites that measure a configuration of the user's own, too
logger = logging.getLogger("normexp")


def bench(words: Sequence[str], quick: bool, rounds: int | None, out: str | None) -> int:
    """Run the suites that are named (default: steps); return 1 if the loss curves of a race are wrong.

    Args:
        words: names of suites, and overrides of `normexp run` for the suites that take some.
        quick: one small work per suite, few turns: shows that everything works.
        rounds: of every side; None takes as many as the suites usually take.
        out: the folder that receives a Markdown and a JSON file per table, and a figure of the races.
    """
    names, overrides = chosen(words, quick)
    if rounds is not None:
        _check_rounds(rounds, names, quick)
    if out is not None:
        check_writable(Path(out), "--out")
    from normexp.training.machine.hardware import choose_device, describe

    wrong: list[str] = []
    for name in names:
        logger.info(f"suite {name}: {ABOUT[name]}")
        suite = import_module(f"normexp.bench.suites.{name}")
        for result in suite.run(quick, 1 if quick else rounds or FEWER.get(name, ROUNDS), overrides):
            print(result.markdown())
            wrong += result.wrong
            if out is not None:
                _say(result.write(Path(out), describe(choose_device("cpu"), 0)))
    if out is not None and "steps" in names:
        from normexp.bench.picture import write_picture

        _say(write_picture(Path(out)))
    for line in wrong:
        logger.info(f"wrong: {line}")
    return 1 if wrong else 0


def _say(written: Iterable[Path]) -> None:
    for path in written:
        logger.info(str(path))


def _check_rounds(rounds: int, names: Sequence[str], quick: bool) -> None:
    check_count("bench: --rounds", rounds)
    if quick:
        raise UserError(f"bench: --quick has few rounds of its own; leave out --rounds {rounds}")
    if all(name in WITHOUT_ROUNDS for name in names):
        raise UserError(f"bench: --rounds {rounds}: is of suites that take turns; {', '.join(names)} take none")


def chosen(words: Sequence[str], quick: bool) -> tuple[list[str], list[str]]:
    """Return the suites and the overrides. Raises UserError for a suite or an override that does not exist."""
    names, overrides = [word for word in words if "=" not in word], [word for word in words if "=" in word]
    for name in names:
        if name not in ABOUT:
            raise unknown("bench: suite", name, ABOUT)
    suites = names or list(QUICK if quick else ABOUT)[: None if quick else 1]
    if overrides:
        check_once(overrides)
        if (device := compose(["device=cpu", *overrides])["device"]) != "cpu":
            raise UserError(f"bench: device={device}: all sides are timed on the CPU; leave it out")
        if alone := [name for name in suites if name not in ANY_WORK]:
            raise UserError(f"bench {alone[0]}: {overrides[0]!r}: takes no overrides")
    return suites, overrides
