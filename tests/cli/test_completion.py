"""Completion: the words that may follow, without torch; and a Tab in real shells."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from normexp.cli.candidates import FORMATS, PICTURES, STYLES, TABLES, candidates
from normexp.cli.command_line import VERBS
from normexp.cli.completion_verb import SHELLS
from normexp.config import groups, options

TOP = Path(__file__).resolve().parents[2]


def names(line: str) -> list[str]:
    """Return what the last word of a line may become."""
    return [name for name, _ in candidates(line.split(" "))]


ANSWERS = {  # a line -> some of its answers, and a word that is none
    "sw": (["sweep"], "run"),
    "--v": (["--version"], "run"),
    "run ": (["norm=", "seed=", "model="], "norm.eps="),
    "run norm=gr": (["norm=group"], "norm=batch"),
    "run norm=group norm.": (["norm.num_groups=", "norm.eps="], "norm.momentum="),
    "run optim": (["optim=", "optim.lr="], "model="),
    "run precision=": (["precision=fp32", "precision=bf16"], "precision=false"),
    "run optim.nest": (["optim.nesterov="], "optim.lr="),
    "run optim=adamw optim.ams": ([], "optim.amsgrad="),
    "run compile=": (["compile=true", "compile=false", "compile=norms"], "compile="),
    "run norm=none,ba": ([], "norm=none,batch"),
    "run -m norm=none,ba": (["norm=none,batch"], "norm=none"),
    "sweep norm=none,ba": (["norm=none,batch"], "norm=none"),
    "sweep norm=none,group norm.num": (["norm.num_groups="], "norm.momentum="),
    "sweep executor=slurm executor.par": (["executor.partition="], "executor="),
    "run --fo": (["--force"], "--quiet"),
    "check norm.placement=": ([], "norm.placement=pre"),
    "check norm=group norm.placement=": (["norm.placement=pre", "norm.placement=post"], "norm=group"),
    "run rec": (["recipe="], "norm="),
    "run recipe=": (["recipe=auto", "recipe=none"], "recipe=tpe"),
    "run jo": ([], "jobs="),
    "sweep jo": (["jobs="], "recipe="),
    "sweep stack=": (["stack=auto", "stack=true"], "stack=none"),
    "run logg": (["logger="], "norm="),
    "run logger=": (["logger=tensorboard", "logger=mlflow", "logger=trackio"], "logger=none"),
    "reproduce ioffe": (["ioffe2015_table"], "covariate_shift"),
    "reproduce covariate_shift scale=": (["scale=smoke", "scale=paper"], "scale"),
    "reproduce dev": (["device="], "scale="),
    "reproduce device=": (["device=cuda"], "device"),
    "reproduce exec": (["executor="], "executor.cpus="),
    "reproduce executor=": (["executor=slurm", "executor=local"], "executor"),
    "reproduce executor=slurm executor.part": (["executor.partition="], "executor=slurm"),
    "reproduce stack=": (["stack=auto", "stack=true"], "stack=none"),
    "claims sc": (["scale="], "device="),
    "laws results": (["results_dir="], "scale="),
    "list no": (["norms"], "models"),
    "verify re": (["records", "resume"], "drift"),
    "bench gr": (["growth"], "steps"),
    "table results --format ": (["md", "html"], "png"),
    "plot results --style ": (["page", "slide"], "md"),
    "completion ": ([*SHELLS], "candidates"),
    "table res": ([], "results"),
    "nothing ": ([], "norm="),
    "verify records ": ([], "records"),
}


@pytest.mark.parametrize(("line", "answers"), ANSWERS.items())
def test_completion_offers_what_may_follow(line, answers):
    some, other = answers
    offered = names(line)
    assert set(some) <= set(offered)
    assert other not in offered
    assert bool(some) == any(offered)


def test_completion_knows_every_command_group_and_experiment():
    assert {name for name in names("") if name[0] != "-"} == set(VERBS)
    assert {f"{group}=" for group in groups()} <= set(names("run "))
    assert set(options("experiment")) <= set(names("reproduce "))
    assert all({f"{group}={name}" for name in options(group)} == set(names(f"run {group}=")) for group in groups())


def test_completion_of_formats_and_styles_is_what_commands_take():
    from normexp.report.figures import formats
    from normexp.report.tables.formats import FORMATS as TABLE_FORMATS

    assert set(TABLES) == set(TABLE_FORMATS)
    assert set(PICTURES) == set(formats.FORMATS)
    assert set(STYLES) == set(formats.STYLES)
    assert set(FORMATS) <= set(VERBS)


def test_completion_says_what_a_word_is():
    about = dict(candidates(["run", "norm=b"]))
    assert "over the batch" in about["norm=batch"]
    assert dict(candidates(["r"]))["run"] == "train one configuration"


def answer(words: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from normexp.cli.verbs import main; main(['completion', 'candidates']); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'hydra', 'pydantic', 'pandas')))"
    )
    return subprocess.run([sys.executable, "-c", code], input=words, capture_output=True, text=True)


@pytest.mark.parametrize("words", ["run\nnorm=b\n", "reproduce\nio\n", "sweep\nexecutor=\n", "\n", ""])
def test_completion_answers_without_heavy_imports(words):
    done = answer(words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


HINTS = {
    "run optim.lr=": "a number in (0, inf); usual: 0.05",
    "sweep optim.lr=0.1,": "a number in (0, inf); usual: 0.05",
    "check norm=group norm.num_groups=": "an integer in [1, inf); usual: 32",
    "run precision=x": "one of fp32, tf32, bf16; usual: fp32",
    "run norm=xyz": "an option, or MODULE.NAME of your own",
    "run afol": "a group or a key",
}


@pytest.mark.parametrize(("line", "hint"), HINTS.items())
def test_completion_says_what_is_due_where_no_path_can_stand(line, hint):
    assert candidates(line.split(" ")) == [("", hint)]


PATHS = [
    "run dataset=csv dataset.file=",
    "run results_dir=",
    "run model=my.Net model.file=",
    "run --config ",
    "reproduce ./m",
]


@pytest.mark.parametrize("line", PATHS)
def test_completion_leaves_paths_to_the_shell(line):
    assert candidates(line.split(" ")) == []


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Settings under which a shell finds this checkout's `normexp`, and no settings of the user's."""
    program = tmp_path / "bin" / "normexp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m normexp "$@"\n')
    program.chmod(0o755)
    (tmp_path / "afolder").mkdir()
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(TOP), "HOME": str(tmp_path), "TERM": "dumb", "PS1": "> "}


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(shell), reason=f"no {shell} here")


TABS = {  # what is typed before a Tab -> what stands in the line after it
    "normexp run norm=inst": "normexp run norm=instance",
    "normexp run norm=group norm.num": "normexp run norm=group norm.num_groups=",
    "normexp sweep norm=none,inst": "normexp sweep norm=none,instance",
    "normexp reproduce covar": "normexp reproduce covariate_shift",
    "normexp verify dr": "normexp verify drift",
    "normexp run --fo": "normexp run --force",
    "normexp table afol": "normexp table afolder",
    "normexp run results_dir=afol": "normexp run results_dir=afolder",
    "normexp run results_dir=~/afol": "normexp run results_dir=~/afolder",
}
STAYS = {"normexp run optim.lr=afol": "normexp run optim.lr=afol"}  # a number is no path
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(normexp completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D; source <(normexp completion zsh)"),
}


def bare(text: str) -> str:
    """Return a text without blanks, by which shells wrap lines, and slashes, which some put behind a folder."""
    return text.replace("/", "").replace(" ", "")


class Terminal:
    """An interactive shell that is typed into."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.screen, inner = pty.openpty()
        ends = {"stdin": inner, "stdout": inner, "stderr": inner}
        self.shell = subprocess.Popen(["setsid", "--ctty", *command], cwd=folder, env=environment, **ends)
        os.close(inner)

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """Return what is shown up to a text. Raises AssertionError where it does not come."""
        shown, end = "", time.monotonic() + seconds
        while text not in shown and time.monotonic() < end:
            if select.select([self.screen], [], [], 0.2)[0]:
                shown += os.read(self.screen, 4096).decode(errors="replace")
        assert text in shown, shown
        return shown

    def close(self) -> None:
        self.shell.kill()
        self.shell.wait()
        os.close(self.screen)


@pytest.mark.slow
@pytest.mark.parametrize("shell", [pytest.param(shell, marks=needs(shell)) for shell in START])
def test_a_tab_completes_in_a_real_shell(shell, tmp_path, environment):
    command, source = START[shell]
    terminal = Terminal(command, tmp_path, environment)
    try:
        terminal.type(f"{source}; echo re''ady\n")
        terminal.wait_for("ready")
        for typed, completed in (TABS | STAYS).items():
            terminal.type(f"{typed}\t")
            terminal.wait_for(completed.removeprefix(typed))
            terminal.type("\x01echo '\x05' en''d\n")  # beginning of line, end of line: show it whole, run nothing
            assert bare(f"{completed} end") in bare(terminal.wait_for("end"))
    finally:
        terminal.close()


@pytest.mark.slow
@needs("fish")
@pytest.mark.parametrize(("typed", "completed"), TABS.items())
def test_fish_completes(tmp_path, environment, typed, completed):
    code = f"normexp completion fish | source; complete -C '{typed}'"
    done = subprocess.run(["fish", "--no-config", "-c", code], cwd=tmp_path, env=environment, capture_output=True)
    offered = [line.split("\t")[0].rstrip("/") for line in done.stdout.decode().splitlines()]
    assert completed.split()[-1] in offered, done


@pytest.mark.slow
@needs("fish")
def test_fish_offers_files_only_where_nothing_else_can_stand(tmp_path, environment):
    (tmp_path / "report.csv").touch()
    typed = ("re", "run dataset=csv dataset.file=re", "run optim.lr=re", "run rep")
    code = "; ".join(["normexp completion fish | source", *(f"complete -C 'normexp {line}'" for line in typed)])
    done = subprocess.run(["fish", "--no-config", "-c", code], cwd=tmp_path, env=environment, capture_output=True)
    offered = [line.split("\t")[0] for line in done.stdout.decode().splitlines()]
    assert offered == ["report", "reproduce", "dataset.file=report.csv"], done
