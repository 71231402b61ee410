"""Break every normalization scheme in several small ways and show that a test notices each of them.

python scripts/mutate_norms.py [--scheme NAME ...] [--jobs N] [--kept FILE] [--table FILE]

Every mutation of norm_mutations.py is one text replaced in a copy of the package, which one process imports instead
of normexp and runs the tests of that scheme in tests/norms with. Exit status 1 if a mutant survives, if a mutation's
old text is no longer there, if the unbroken package fails, or if a scheme has fewer than three mutations.

With `--kept FILE` outcomes are appended to a file as they come, and those that stand there are not tried again, unless
the schemes, their configurations or their tests have changed since. `--table FILE` writes the outcomes as Markdown,
each with its commit; the rows of schemes that were not tried stay as the file has them.
"""

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy  # noqa: F401  imported once here, so that every forked process has it
import pytest
import torch
from norm_mutations import MUTATIONS, Mutation

TOP = Path(__file__).resolve().parent.parent
SCHEMES = sorted(path.stem for path in (TOP / "configs" / "norm").glob("*.yaml"))
ENOUGH = 3
ARGUMENTS = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--strict-markers", "-m", "not slow and not data"]
ARGUMENTS += ["--override-ini=addopts=", "--rootdir", str(TOP)]  # one process: this one
ARGUMENTS += ["-p", "no:unraisableexception"]  # what a forked process collects of its parent says nothing of a mutant
FINE = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
ROW = re.compile(r"^\| (\w+) \| (.*) \| (.*) \| ([0-9a-f]+\+?) \|$", re.MULTILINE)  # of the page
UNBROKEN = Mutation("", "", "", "nothing (the package as it is)")


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: `killed by TEST`, `SURVIVED`, or why it could not be tried."""

    scheme: str
    mutation: Mutation
    verdict: str
    expected: bool


class OfOneScheme:
    """A pytest plugin: keep one scheme's tests, the cheap ones first, and remember the first that fails."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self.failed = ""
        self.passed = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Leave the other schemes out where tests are generated, which is quicker than dropping them later."""
        parametrize = metafunc.parametrize

        def of_this_scheme(names: Any, values: Iterable[Any], *rest: Any, **options: Any) -> None:
            first = (names.split(",") if isinstance(names, str) else names)[0].strip()
            kept = [value for value in values if first not in ("scheme", "name") or self.concerns(value)]
            parametrize(names, kept, *rest, **options)

        metafunc.parametrize = of_this_scheme  # type: ignore[method-assign]

    def concerns(self, value: Any) -> bool:
        name = value[0] if isinstance(value, tuple) else value
        return name == self.scheme or name not in SCHEMES

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # Most mutants fall to the reference at once; the contract's gradchecks are the slowest.
        order = ("test_reference", "test_equivalence", "test_theorems")
        items.sort(key=lambda item: next((rank for rank, name in enumerate(order) if name in item.nodeid), len(order)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        if report.failed and not self.failed:
            self.failed = report.nodeid.rpartition("/")[2]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"import of {report.nodeid}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scheme", action="append", choices=SCHEMES, help="only this one; may be given again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--kept", type=Path, help="file of outcomes, to go on where an earlier call stopped")
    parser.add_argument("--table", type=Path, help="write the outcomes as Markdown")
    given = parser.parse_args()
    schemes = given.scheme or SCHEMES
    torch.set_num_threads(1)
    start = time.monotonic()
    kept = Kept(given.kept)
    tasks = [(scheme, each) for scheme in schemes for each in plan(scheme)]
    for outcome in outcomes_of([task for task in tasks if not kept.verdict(*task)], given.jobs):
        kept.add(outcome)
    outcomes = [judged(*task, kept.verdict(*task)) for task in tasks]
    if given.table:
        before = given.table.read_text(encoding="utf-8") if given.table.exists() else ""
        given.table.write_text(table(outcomes, before), encoding="utf-8")
    mutants = sum(outcome.mutation is not UNBROKEN for outcome in outcomes)
    bad = sum(not outcome.expected for outcome in outcomes)
    short = [scheme for scheme in schemes if len(MUTATIONS.get(scheme, ())) < ENOUGH]
    for scheme in short:
        print(
            f"{scheme}: {len(MUTATIONS.get(scheme, ()))} mutations, {ENOUGH} are due: write them in norm_mutations.py"
        )
    print(f"{mutants} mutants, {bad} not as they should be, {time.monotonic() - start:.0f} s")
    return 1 if bad or short else 0


class Kept:
    """The outcomes so far, on disk where a file is given: {"of": digest, "verdict": text}, one a line."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        rows = [json.loads(line) for line in lines]
        self.verdicts = {row["of"]: row["verdict"] for row in rows}

    def verdict(self, scheme: str, mutation: Mutation) -> str:
        """Return what is known of a mutant; empty if nothing is."""
        return self.verdicts.get(digest(scheme, mutation), "")

    def add(self, outcome: Outcome) -> None:
        of = digest(outcome.scheme, outcome.mutation)
        self.verdicts[of] = outcome.verdict
        if self.path and not outcome.verdict.startswith("NOT TRIED"):
            with self.path.open("a", encoding="utf-8") as file:
                print(json.dumps({"of": of, "verdict": outcome.verdict}), file=file)


def digest(scheme: str, mutation: Mutation) -> str:
    """Return a hash of all that a mutant's outcome rests on."""
    return hashlib.sha256(repr((scheme, mutation, sources(scheme))).encode()).hexdigest()


@cache
def sources(scheme: str) -> str:
    """Return a hash of the schemes, their configurations and what tests this one."""
    shared = [path for path in (TOP / "tests" / "norms").rglob("*.py") if not path.name.startswith("test_")]
    parts = [*(TOP / "normexp" / "norms").rglob("*.py"), *(TOP / "configs" / "norm").glob("*.yaml")]
    texts = [path.read_bytes() for path in sorted([*parts, *shared, *test_files(scheme)])]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def table(outcomes: Iterable[Outcome], before: str = "") -> str:
    """Return the mutants and which test notices each, as a page; of schemes not tried, what the page before it has."""
    mutants = [each for each in outcomes if each.mutation is not UNBROKEN]
    at = commit() if mutants else ""
    rows = [(each.scheme, each.mutation.breaks, each.verdict.replace("|", "/"), at) for each in mutants]
    tried = {row[0] for row in rows}
    rows = sorted([*rows, *(row for row in ROW.findall(before) if row[0] not in tried)], key=lambda row: row[0])
    lines = [
        "# Mutants of the schemes",
        "",
        "Would the tests notice a mistake in a scheme? Mistakes were put in on purpose, to see.",
        "",
        "Written by `python scripts/mutate_norms.py --table docs/mutants.md`: each row is one small mistake put into a",
        "copy of the package, the first test of the scheme that fails on it, and the commit where it was tried. With",
        "`--scheme NAME` the rows of that scheme are written anew.",
        "",
        f"{sum(row[2].startswith('killed') for row in rows)} of {len(rows)} are noticed.",
        "",
        "| scheme | mistake | outcome | commit |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def commit() -> str:
    """Return the commit that is checked out, with a + where something was changed since."""
    asked = ["git", "-C", str(TOP), "describe", "--always", "--dirty=+"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def plan(scheme: str) -> list[Mutation]:
    return [UNBROKEN, *MUTATIONS.get(scheme, ())]


def outcomes_of(tasks: list[tuple[str, Mutation]], jobs: int) -> Iterator[Outcome]:
    """Try the mutants, `jobs` at a time, and print each as it ends."""
    waiting, running = list(tasks), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            task = waiting.pop(0)
            process, reader = start(*task)
            running[process] = (task, reader)
        process, _ = os.waitpid(-1, 0)
        (scheme, mutation), reader = running.pop(process)
        outcome = judged(scheme, mutation, reader.read())
        print(f"{outcome.scheme:24} {outcome.mutation.breaks:64} {outcome.verdict}", flush=True)
        yield outcome


def judged(scheme: str, mutation: Mutation, said: str) -> Outcome:
    """Turn what the process wrote into a verdict."""
    said = said or "killed by a crash of the interpreter"
    if mutation is UNBROKEN:
        return Outcome(scheme, mutation, said, said.startswith("passes"))
    expected = said.startswith("killed")
    return Outcome(scheme, mutation, said.replace("passes", "SURVIVED"), expected)


def start(scheme: str, mutation: Mutation) -> tuple[int, io.TextIOWrapper]:
    """Fork a process that tries one mutant; it has torch and pytest imported and nothing of normexp."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, os.fdopen(reading)
    os.close(reading)
    try:
        said = tried(scheme, mutation)
    except BaseException as error:
        said = f"NOT TRIED: {type(error).__name__}: {error}"
    os.write(writing, said.encode())
    os._exit(0)


def tried(scheme: str, mutation: Mutation) -> str:
    """Run the scheme's tests on a broken copy of the package; return what happened."""
    with tempfile.TemporaryDirectory() as folder:
        if not apply(mutation, Path(folder)):
            return f"NOT TRIED: {mutation.file} does not hold the old text exactly once"
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        os.environ |= {"NORMEXP_DATA": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others' plugins take seconds
        plugin = OfOneScheme(scheme)
        for files in stages(scheme):
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                status = pytest.main([*ARGUMENTS, *map(str, files)], [plugin])
            if status not in FINE:
                break
        home = sys.modules["normexp"].__file__ or ""
        if not home.startswith(folder):
            return f"NOT TRIED: the tests imported {home}"
    if plugin.failed:
        return f"killed by {plugin.failed}" if mutation is not UNBROKEN else f"FAILS in {plugin.failed}"
    fine = plugin.passed and status in FINE
    return f"passes ({plugin.passed} tests)" if fine else f"NOT TRIED: pytest ended with {status}"


def stages(scheme: str) -> list[list[Path]]:
    """Return the scheme's test files, those first that notice most mutants: to import the others takes seconds."""
    files = list(test_files(scheme))
    first = [path for path in files if path.name in ("test_reference.py", "test_options.py")]
    return [first, [path for path in files if path not in first]]


def apply(mutation: Mutation, folder: Path) -> bool:
    """Copy the package into the folder and break it; False if the old text is not there exactly once."""
    shutil.copytree(TOP / "normexp", folder / "normexp", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "configs").symlink_to(TOP / "configs")
    if mutation is UNBROKEN:
        return True
    path = folder / "normexp" / "norms" / mutation.file
    text = path.read_text()
    if text.count(mutation.old) != 1:
        return False
    path.write_text(text.replace(mutation.old, mutation.new))
    return True


def test_files(scheme: str) -> Iterable[Path]:
    """Return the files with generated tests, and those that import the scheme or one of its parts."""
    generated = {f"test_{name}.py" for name in ("reference", "contract", "theorems", "block", "options", "recurrent")}
    config = (TOP / "configs" / "norm" / f"{scheme}.yaml").read_text()
    classes = {target.rpartition(".")[2] for target in re.findall(r"_target_: (\S+)", config)} - {"Norm"}
    paths = sorted((TOP / "tests" / "norms").glob("test_*.py"))
    others = ("test_convert.py", "test_convert_networks.py", "test_fold.py")  # they use some schemes as examples
    return [path for path in paths if path.name in generated or (imports(path, classes) and path.name not in others)]


def imports(path: Path, classes: Iterable[str]) -> bool:
    """Tell whether a test imports one of these schemes from normexp."""
    text = path.read_text()
    return any(re.search(rf"^from normexp\.norms\S* import .*\b{name}\b", text, re.MULTILINE) for name in classes)


if __name__ == "__main__":
    sys.exit(main())
