"""The command line: one line for every mistake, nothing heavy imported, nothing written."""

import os
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from normexp.cli import list_verb
from normexp.cli import verbs as module
from normexp.cli.command_line import LISTS
from normexp.config import options
from normexp.errors import Interrupted

LONG = {
    "a verb longer than a name of a file": (["a" * 300], f"no command '{'a' * 300}'"),
    "a setting longer than a name of a file": (["run", "a" * 300], "is not key=value"),
    "a name of a file on two lines": (["reproduce", "a\nb.yaml"], "a\\nb.yaml: no such file"),
    "more seeds than a number has digits": (["run", "--seeds", "1" * 5000], "option '--seeds' does not exist"),
}


@pytest.mark.parametrize(("arguments", "said"), LONG.values(), ids=LONG)
def test_cli_mistake_is_one_line_and_status_2_and_leaves_nothing(cli, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    status, stdout, stderr = cli(*arguments)
    assert (status, stdout) == (2, "")
    assert stderr.startswith("normexp: ")
    assert stderr.count("\n") == 1
    assert said in stderr
    assert list(tmp_path.iterdir()) == []


def test_cli_on_windows_is_one_line(cli, monkeypatch):
    """Whether a process lives is asked by a signal that would end it there; and much else is missing."""
    monkeypatch.setattr("normexp.errors.sys", SimpleNamespace(platform="win32"))
    status, stdout, stderr = cli("list", "norm")
    assert (status, stdout) == (2, "")
    assert stderr == "normexp: Windows: normexp needs Linux or macOS; WSL has the first (`wsl --install`)\n"


MISTAKES = [
    [], ["rnu"], ["run", "--foce"], ["run", "norm=bacth"], ["run", "train.eposch=3"], ["run", "optim.lr=-1"],
    ["run", "batch_size=1", "norm=batch"], ["run", "model=cnn", "dataset=house_prices"], ["plot"], ["list", "normz"],
    ["run", "dataset=mnist", "dataset.archive=nowhere.zip"], ["run", f"results_dir={__file__}"], ["table", "nowhere"],
    ["plot", "nowhere"], ["best", "nowhere"],
]  # fmt: skip
HEAVY = ("torch", "torchvision", "pandas", "matplotlib", "sklearn", "scipy")
WITHOUT = """
import sys
from normexp.cli.verbs import main
for arguments in eval(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit:
        pass
    heavy = [name for name in {heavy} if name in sys.modules]
    assert not heavy, (arguments, heavy)
"""


def test_cli_help_lists_and_mistakes_import_nothing_heavy(tmp_path):
    light = [["--help"], ["run", "--help"], ["list"], ["--version"], ["run", "norm=batch", "--cfg"]]
    command = [sys.executable, "-c", WITHOUT.format(heavy=HEAVY), repr([*light, *MISTAKES])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "AssertionError" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_cli_skips_a_finished_run_without_importing_torch(cli, tmp_path):
    arguments = ["run", "model=linear", "steps=1", f"results_dir={tmp_path}", "--quiet"]
    assert cli(*arguments)[0] == 0
    command = [sys.executable, "-c", WITHOUT.format(heavy=HEAVY), repr([arguments])]
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_cli_works_as_a_module():
    done = subprocess.run([sys.executable, "-m", "normexp", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout[:8]) == (0, "normexp ")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["table", "-h"]], ids=" ".join)
def test_cli_help_goes_to_standard_output(cli, arguments):
    status, stdout, stderr = cli(*arguments)
    assert (status, stderr) == (0, "")
    assert stdout.startswith("usage: normexp")


def test_cli_run_help_names_every_option(cli):
    _, stdout, _ = cli("run", "--help")
    assert "GROUP=OPTION" in stdout
    assert all(", ".join(options(group)) in stdout for group in ("norm", "model", "dataset"))


@pytest.mark.parametrize(("kind", "group"), LISTS.items(), ids=LISTS)
def test_cli_list_shows_every_option_with_its_source(cli, kind, group):
    status, stdout, _ = cli("list", kind)
    lines = stdout.splitlines()
    assert status == 0
    assert [line.split()[0] for line in lines] == list(options(group))
    assert all(line.endswith("]") for line in lines)


def test_cli_list_breaks_its_lines_at_the_width_of_a_terminal(cli, monkeypatch):
    """Other programs get whole lines. Experiments had lines of 291 letters."""
    whole = cli("list", "experiments")[1]
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr("normexp.cli.list_verb._is_terminal", lambda: True)
    broken = cli("list", "experiments")[1]
    assert max(map(len, broken.splitlines())) <= 90 < max(map(len, whole.splitlines()))
    assert broken.split() == whole.split()


def test_cli_list_shows_every_kind(cli):
    _, stdout, _ = cli("list")
    assert [line for line in stdout.splitlines() if line and line[0] != " "] == list(LISTS)


def test_cli_says_that_no_browser_shows_the_page(cli, results, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    cli("run", "model=linear", "steps=1", "threads=1", f"results_dir={results}", "--quiet")
    status, stdout, stderr = cli("report", str(results), "--open")
    assert (status, stdout) == (0, f"{results}/report.html\n")
    assert stderr == "normexp: no browser can be opened here\n"


def test_cli_flags_may_stand_between_overrides(cli):
    _, stdout, _ = cli("run", "norm=batch", "--cfg", "model=mlp")
    assert stdout.startswith("# normexp run recipe=none model=mlp norm=batch")


def test_cli_cfg_prints_the_configuration_and_writes_nothing(cli, tmp_path, monkeypatch):
    import yaml

    monkeypatch.chdir(tmp_path)
    _, stdout, _ = cli("run", "norm=batch", "seed=3", "--cfg")
    printed = yaml.safe_load(stdout)
    assert (printed["seed"], printed["norm"]["eps"], printed["_choices_"]["norm"]) == (3, 1e-5, "batch")
    assert list(tmp_path.iterdir()) == []


def test_cli_run_prints_the_run_directory_last(cli, results):
    status, stdout, stderr = cli("run", "model=linear", "steps=3", f"results_dir={results}")
    assert status == 0
    assert (Path(stdout.splitlines()[-1]) / "metrics.csv").exists()
    assert "step 3/3" in stderr


def test_cli_quiet_prints_the_run_directory_only(cli, results):
    _, stdout, stderr = cli("run", "model=linear", "steps=3", f"results_dir={results}", "--quiet")
    assert (stdout.count("\n"), stderr) == (1, "")


@pytest.mark.parametrize("overrides", [["model=convpool"], ["model=cnn", "model.widths=[]"]], ids=" ".join)
def test_cli_parts_that_do_not_fit_are_one_line(cli, results, overrides):
    status, _, stderr = cli("run", *overrides, f"results_dir={results}")
    assert (status, stderr.count("\n")) == (2, 1)
    assert not results.exists()


def test_cli_norm_that_cannot_take_the_shapes_is_one_line(cli, results):
    arguments = ["model=mlp", "norm=group", "model.normalize_output=true"]
    status, _, stderr = cli("run", *arguments, f"results_dir={results}")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "model=mlp norm=group dataset=digits: " in stderr
    assert "model.normalize_output=false" in stderr
    assert not results.exists()


def _cleaned_up_badly() -> Exception:
    """Return what a library's clean-up raises while Ctrl-C is on its way out, as OmegaConf's does in a copy."""
    try:
        try:
            raise KeyboardInterrupt
        finally:
            getattr(None, "_invalidate_flags_cache")  # noqa: B009
    except AttributeError as error:
        return error


RAISED = {
    "interrupted": (Interrupted("stopped at step 3"), 130, "normexp: stopped at step 3\n"),
    "Ctrl-C": (KeyboardInterrupt(), 130, "normexp: interrupted\n"),
    "Ctrl-C, and a clean-up that fails": (_cleaned_up_badly(), 130, "normexp: interrupted\n"),
    "bug": (ZeroDivisionError("by\nzero"), 1, "normexp: failed: ZeroDivisionError: by (--debug shows the traceback)\n"),
}


@pytest.mark.parametrize(("error", "status", "line"), RAISED.values(), ids=RAISED)
def test_cli_errors_become_an_exit_status_and_one_line(cli, monkeypatch, error, status, line):
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr(list_verb, "show", fail)
    assert cli("list") == (status, "", line)


class Interrupting:
    """A finder of modules at whose work Ctrl-C is pressed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == module.__name__:
            raise KeyboardInterrupt


def test_cli_interrupted_while_it_is_imported_or_ends_is_one_line(monkeypatch, capsys):
    def end(*_: object) -> int:
        raise KeyboardInterrupt  # the second Ctrl-C, while the first one's line is made

    from normexp.__main__ import main as started

    monkeypatch.setattr(module, "main", end)
    assert started() == 130
    monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert started() == 130
    assert capsys.readouterr().err == "normexp: interrupted\n" * 2


@pytest.mark.parametrize("place", [0, 1, 2])
def test_cli_debug_shows_the_traceback_wherever_it_stands(place):
    arguments = ["run", "norm=bacth"]
    arguments.insert(place, "--debug")
    with pytest.raises(module.UserError):
        module.main(arguments)


def test_cli_survives_a_reader_that_goes_away():
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = f"{sys.executable} -m normexp list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("norms\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_cli_trains_where_standard_streams_are_closed(tmp_path, closed):
    """As a job that a daemon starts: no number of a stream is taken by a record, which would get what is printed."""
    command = f"{sys.executable} -m normexp sweep model=linear steps=1 threads=1 seed=1,2 results_dir=. {closed}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("runs/*/checkpoint.safetensors"))) == 2


def test_cli_gives_closed_streams_that_lead_nowhere():
    closing = "import os, sys; sys.stderr = None; os.close(2); from normexp.cli.verbs import main; main(['list']); "
    named = "print(os.readlink('/proc/self/fd/2'), sys.stderr.name)"
    done = subprocess.run([sys.executable, "-c", closing + named], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"{os.devnull} {os.devnull}"


def test_cli_expands_the_home_folder_that_a_shell_leaves(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    status, _, stderr = cli("run", "dataset=cifar10", "dataset.archive=~/none.tar.gz")
    assert status == 2
    assert f"dataset.archive={tmp_path}/none.tar.gz: no such file or folder" in stderr


def test_cli_takes_a_tilde_that_begins_no_path_as_it_is(cli, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,~y\n1,2\n2,3\n")
    status, _, stderr = cli("run", "dataset=csv", "model=mlp", f"dataset.file={table}", "dataset.target=~x")
    assert status == 2
    assert stderr.endswith("dataset.target '~x' does not exist; allowed: a, ~y; did you mean ~y?\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file that is always full")
def test_cli_goes_on_where_what_it_says_has_no_room(tmp_path, monkeypatch):
    """As in a batch job whose log lies on a full disk: a note before training, lines of progress, a last error."""
    full = Path("/dev/full").open("w", buffering=1)  # noqa: SIM115  # closing it fails as well
    monkeypatch.setattr(sys, "stderr", full)
    run = ["run", "model=linear", "steps=2", "batch_size=5000", "threads=1", f"results_dir={tmp_path}"]
    assert module.main(run) == 0
    assert list(tmp_path.glob("runs/*/checkpoint.safetensors"))
    with suppress(OSError):
        full.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_cli_ends_with_its_own_status_where_standard_streams_take_nothing(unbuffered):
    """Python flushes what it holds when a process ends, and makes the status 120 where that fails."""
    command, env = [sys.executable, "-m", "normexp"], os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ended = partial(subprocess.run, env=env, text=True)
    with Path("/dev/full").open("wb") as full:
        assert ended([*command, "run", "norm=bacth"], stderr=full).returncode == 2
        assert ended([*command, "run", "norm=bacth"], stdout=full, stderr=full).returncode == 2
        printing = [
            ended([*command, *words], stdout=full, stderr=subprocess.PIPE) for words in (["list"], ["--version"])
        ]
    line = "normexp: standard output: No space left on device\n"
    assert [(done.returncode, done.stderr) for done in printing] == [(2, line)] * 2
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--help"], env=env, **pipes) as helped:
        helped.stdout.close()  # as `normexp --help | true` does
        assert helped.stderr.read() == b""
    assert helped.returncode == 0
