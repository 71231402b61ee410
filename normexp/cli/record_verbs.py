"""`normexp diff`, `archive`, `merge`, `verify` and `sample`: what is done with records that are there."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from normexp.cli.streams import prints_beside_answer
from normexp.config.allowed import check_count
from normexp.config.text import amount, shortened
from normexp.errors import UserError, unknown
from normexp.records import printable_lines

logger = logging.getLogger("normexp")


def diff(arguments: argparse.Namespace) -> int:
    """Print how two runs differ."""
    from normexp.report.commands.differences import diff

    print(diff(arguments.first, arguments.second), end="")
    return 0


def archive(arguments: argparse.Namespace) -> int:
    """Pack the finished runs of experiments; say what was left as it is."""
    from normexp.experiments.keys import REPORT
    from normexp.records.packing import pack
    from normexp.report.commands.named import recorded, split

    for folder in recorded(*split(arguments.names, REPORT, own=True), own=True):
        done = pack(folder)
        for line in done.left:
            logger.info(f"left as it is: {line}")
        for path in done.archives:
            print(f"{path}: {path.stat().st_size:,} bytes")
        logger.info(f"{folder}: {amount(done.runs, 'run')} packed")
    return 0


def merge(arguments: argparse.Namespace) -> int:
    """Join the records of two machines; 1 if something of them was left out."""
    from normexp.config.identity import IGNORED_KEYS
    from normexp.records.merging import merge as merge_records

    into = Path(arguments.into) if arguments.into else None
    done = merge_records(Path(arguments.first), Path(arguments.second), into, IGNORED_KEYS)
    for line in done.left:
        logger.info(f"left out: {line}")
    print(f"{into or arguments.first}: {amount(done.copied, 'run')} brought in, {done.there} there already")
    return int(bool(done.left))


def verify(arguments: argparse.Namespace) -> int:
    """Check records, resuming, or today's results against recorded ones; 1 if something is not as it should be."""
    if arguments.what not in CHECKS:
        raise unknown("verify:", arguments.what, CHECKS)
    for name, checks in OPTIONS.items():
        if getattr(arguments, name) is not None and arguments.what not in checks:
            raise UserError(f"verify {arguments.what}: --{name} is of verify {' and '.join(checks)}")
    return CHECKS[arguments.what](arguments)


def _records(arguments: argparse.Namespace) -> int:
    from normexp.verify.records import verify_records

    if len(arguments.words) > 1:
        raise UserError("verify records: takes one PATH (default: results)")
    return verify_records(Path(arguments.words[0] if arguments.words else "results"), print)


def _resume(arguments: argparse.Namespace) -> int:
    from normexp.runs.signals import stops_as_ctrl_c
    from normexp.verify.resume import verify_resume

    kills = 5 if arguments.kills is None else arguments.kills
    with stops_as_ctrl_c():
        return verify_resume(arguments.words, kills, arguments.seed or 0, print)


def _drift(arguments: argparse.Namespace) -> int:
    from normexp.experiments.keys import FILES, REPORT
    from normexp.report.commands.named import recorded, split
    from normexp.verify.drift import verify_drift

    files = [word for word in arguments.words if word.partition("=")[0] in FILES]
    words = [word for word in arguments.words if word not in files]
    folders = recorded(*split(words, (*REPORT, *FILES)))
    _check_kept(arguments, len(folders))
    usual = len(folders) if any("=" not in word for word in words) else 3
    limit = usual if arguments.limit is None else arguments.limit
    table = Path(arguments.csv) if arguments.csv is not None else None
    return verify_drift(folders, files, limit, arguments.seed, print, table)


def _check_kept(arguments: argparse.Namespace, recorded: int) -> None:
    """Raise UserError for more runs than would be trained again, or than a table would keep."""
    if arguments.seed is None and arguments.limit is not None and arguments.limit > recorded:
        one_each = f"one run each of {recorded} that {'is' if recorded == 1 else 'are'} recorded"
        raise UserError(f"verify drift: --limit {arguments.limit}: {one_each}; --seed S draws among all runs")
    if arguments.seed is not None and arguments.csv is not None:
        lost = "--csv has one row per experiment, and --seed may draw several of its runs"
        raise UserError(f"verify drift: {lost}; give one of the two")


CHECKS: dict[str, Callable[[argparse.Namespace], int]] = {"records": _records, "resume": _resume, "drift": _drift}
OPTIONS = {"kills": ("resume",), "limit": ("drift",), "seed": ("resume", "drift"), "csv": ("drift",)}


def sample(arguments: argparse.Namespace) -> int:
    """Print texts that the network of a run writes."""
    from normexp.runs.sample import sample as texts_of

    for name in ("length", "texts"):
        check_count(f"sample: --{name}", getattr(arguments, name))
    if not arguments.temperature > 0:
        raise UserError(f"sample: --temperature {arguments.temperature}: must be above 0")
    plugins = _plugins(arguments.words)
    options = (arguments.prompt, arguments.length, arguments.texts, arguments.temperature, arguments.file, plugins)
    begin = "\n" if arguments.prompt is None else arguments.prompt
    with prints_beside_answer():
        texts = texts_of(arguments.path, *options)
    print("\n\n".join(printable_lines(begin + text) for text in texts))
    return 0


def _plugins(words: Sequence[str]) -> list[str]:
    """Return the modules of plugins=[...], which is all that may stand behind the path of a run."""
    from normexp.config.own import PLUGINS
    from normexp.report.commands.named import plugins_of, split

    if others := [word for word in words if "=" not in word]:
        raise UserError(f"sample: {shortened(others[0])!r} is one argument too many")
    return plugins_of(split(words, (PLUGINS,))[1])
