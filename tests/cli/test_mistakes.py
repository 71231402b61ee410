"""Every wrong command of mistakes.md ends at once in the line that is written there, with nothing else done."""

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR

import newcomer
import pytest

from normexp.cli.command_line import VERBS
from normexp.cli.verbs import main
from normexp.config import groups

CATALOGUE = Path(__file__).parent / "mistakes.md"
ENTRY = re.compile(r"^    \$ normexp ?(.*)\n    (normexp: .*)$", re.MULTILINE)
BUILT = ("What does not fit together", "Data", "reproduce", "Numbers")  # sections that build networks or read data
SECONDS = 1.0  # of this thread's own time, with torch imported


def entries(text: str) -> list[tuple[str, str]]:
    """Return (what is typed after `normexp`, the line that is expected) of every entry."""
    return [(command, line) for command, line in ENTRY.findall(text)]


ENTRIES = entries(CATALOGUE.read_text(encoding="utf-8"))
SECTIONS = re.split(r"^## ", CATALOGUE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The newcomer's folder, with one finished run, as the current folder; heavy libraries are imported."""
    import matplotlib  # noqa: F401
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn  # noqa: F401
    import torchvision  # noqa: F401

    made = tmp_path_factory.mktemp("newcomer")
    newcomer.make(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        newcomer.stage_cluster(patch, made)
        assert main(["run", "model=linear", "steps=1", "threads=1", "--quiet"]) == 0
        yield made


def matches(expected: str, line: str) -> bool:
    """Tell whether a line is the expected one, in which `...` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, expected.split("..."))), line) is not None


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Return {path: (size, time of change)} of all files in a folder, and its folders, but for Python's own cache."""
    paths = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    facts = {path: path.lstat() for path in paths}
    return {
        str(path): (0, 0) if S_ISDIR(fact.st_mode) else (fact.st_size, fact.st_mtime_ns) for path, fact in facts.items()
    }


def titled(section: str) -> object:
    title = section.partition("\n")[0]
    return pytest.param(section, id=title, marks=[pytest.mark.slow] if title in BUILT else [])


def ended(command: str, capfd: pytest.CaptureFixture[str]) -> tuple[int | str, str, str, float]:
    """Return exit status, output, errors and this thread's seconds: many where others want the core's caches, too."""
    capfd.readouterr()
    began = time.thread_time()
    try:
        status: int | str = main(shlex.split(command))
    except SystemExit as stopped:
        status = f"SystemExit({stopped.code})"
    seconds = time.thread_time() - began
    return status, *capfd.readouterr(), seconds


@pytest.mark.parametrize("section", list(map(titled, SECTIONS)))
def test_every_mistake_is_one_line_at_once_and_leaves_nothing(folder, section, capfd):
    wrong, before = [], contents(folder)
    for command, expected in entries(section):
        status, stdout, stderr, seconds = ended(command, capfd)
        line = stderr.removesuffix("\n")
        if status != 2 or stdout or "\n" in line or not matches(expected, line):
            wrong.append(f"$ normexp {command}\nexit status {status}\n{stdout}{stderr}expected: {expected}")
        if seconds > SECONDS and (seconds := min(ended(command, capfd)[-1] for _ in range(2))) > SECONDS:
            wrong.append(f"$ normexp {command}\ntook {seconds:.1f} s")
    if (after := contents(folder)) != before:
        wrong.append(f"one of these commands wrote {sorted(after.items() ^ before.items())[:3]}")
    assert not wrong, "\n\n".join(wrong)


def test_the_catalogue_covers_every_verb_and_every_group():
    assert len(ENTRIES) >= 150
    assert len({command for command, _ in ENTRIES}) == len(ENTRIES)
    typed = [shlex.split(command) for command, _ in ENTRIES]
    assert {words[0] for words in typed if words} >= set(VERBS)
    named = {word.partition("=")[0].partition(".")[0] for words in typed for word in words}
    assert named >= set(groups())


def test_every_block_of_the_catalogue_is_an_entry():
    text = CATALOGUE.read_text(encoding="utf-8")
    assert text.count("\n    $ normexp") == len(ENTRIES)


def test_what_a_line_says_is_compared():
    assert matches("normexp: a=...; did you mean b?", "normexp: a=x; did you mean b?")
    assert not matches("normexp: a=...; did you mean b?", "normexp: a=x; did you mean c?")
