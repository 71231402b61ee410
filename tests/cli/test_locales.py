"""Files are UTF-8 whatever the locale says, and a terminal that lacks a character fails nothing."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import normexp

TEXT = {"read_text": "", "write_text": "", "open": "r", "fdopen": "r"}  # what they do without a mode
LOCALES = {
    "C": "",
    "tr_TR.ISO-8859-9": "\xf6",
    "en_US.ISO-8859-1": "\xf6",
    "tr_TR.UTF-8": "ıİ€",
}  # with letters of each
VERBS = """
import sys
from normexp.cli.verbs import main
target, results, csv = sys.argv[1:]
typed = ["dataset=csv", f"dataset.file={csv}", f"dataset.target={target}", "model=linear", "steps=2", "threads=1"]
assert main(["run", *typed, f"results_dir={results}"]) == 0
for verb in (["table"], ["table", "--format", "tex"], ["status"], ["plot"], ["verify", "records"]):
    assert main([*verb, results]) == 0, verb
assert main(["run", *typed, f"results_dir={results}"]) == 0
assert main(["claims", f"results_dir={results}"]) == 2

"""


def without_encoding(path: Path) -> Iterator[str]:
    """Yield the places of a source file that open a text in the locale's encoding."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in TEXT:
            continue
        modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        is_text = not any("b" in mode for mode in modes) and (node.func.attr != "open" or modes)
        if is_text and owner != "webbrowser" and not any(word.arg in ("encoding", None) for word in node.keywords):
            yield f"{path.name}:{node.lineno}"


def test_every_text_is_opened_as_utf8():
    sources = Path(normexp.__file__).parent.rglob("*.py")
    assert [place for path in sources for place in without_encoding(path)] == []


def environment(locale: str, folder: Path) -> dict[str, str]:
    """Return the environment of a user of a locale, which is made where the system has none. Skips where it cannot."""
    language, _, encoding = locale.partition(".")
    if encoding:
        if shutil.which("localedef") is None:
            pytest.skip("no localedef to make the locale with")
        made = subprocess.run(["localedef", "-i", language, "-f", encoding, folder / locale], capture_output=True)
        if not (folder / locale).exists():
            pytest.skip(f"no such locale: {made.stderr.decode(errors='replace')}")
    strict = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # Python mends C and POSIX by itself
    return {**os.environ, "LC_ALL": locale, "LOCPATH": str(folder), **strict}


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES)
def test_runs_and_their_tables_in_every_locale(tmp_path, locale):
    given = environment(locale, tmp_path)
    encoding, letters = locale.partition(".")[2] or "ascii", LOCALES[locale]
    target, results = f"preis_{letters}".encode(encoding), f"ergebnis_{letters}".encode(encoding)
    rows = "".join(f"{i},{i % 7},{i % 3}\n" for i in range(60))
    (tmp_path / "houses.csv").write_text(f"rooms,preis_{letters},note_€\n{rows}", encoding="utf-8")
    command = [sys.executable, "-c", VERBS, target, results, "houses.csv"]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    (config,) = tmp_path.glob("ergebnis*/runs/*/config.yaml")
    assert f"target: preis_{letters}\n" in config.read_text(encoding="utf-8")
    assert b"damaged" not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("home", [None, "/dev/null/home"], ids=["no HOME", "a HOME that cannot be"])
def test_program_works_without_a_home(tmp_path, home):
    given = {key: value for key, value in os.environ.items() if key not in ("HOME", "USER", "LOGNAME", "NORMEXP_DATA")}
    given |= {} if home is None else {"HOME": home}
    command = [sys.executable, "-m", "normexp", "run", "model=linear", "steps=1", "threads=1", "results_dir=results"]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "matplotlib" not in done.stderr.casefold()
    assert list(tmp_path.glob("results/runs/*/curves.png"))


SURROUNDINGS = {
    "no assertions, no docstrings": {"PYTHONOPTIMIZE": "2"},
    "warnings are errors": {"PYTHONWARNINGS": "error"},
    "another order of sets": {"PYTHONHASHSEED": "77"},
    "no such time zone": {"TZ": "nonsense/zone"},
    "a terminal of one column that can do nothing": {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "1"},
    "no folder for temporary files": {"TMPDIR": "/nonexistent"},
}


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return rows_in(tmp_path_factory.mktemp("ordinary"), {})


def rows_in(folder: Path, variables: dict[str, str]) -> bytes:
    """Return the curve of a run under these environment variables, which says nothing that it does not say else."""
    command = [sys.executable, "-m", "normexp", "run", "model=linear", "steps=2", "threads=1", "--quiet"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    (metrics,) = folder.glob("results/runs/*/metrics.csv")
    return metrics.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_run_has_the_same_bytes_in_all_surroundings(tmp_path, ordinary, name):
    assert rows_in(tmp_path, SURROUNDINGS[name]) == ordinary
