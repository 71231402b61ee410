"""The wheel works by itself, from any folder: its configs travel inside."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from normexp.cli.completion_verb import SHELLS

TOP = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow


LARGEST = 2_000_000  # bytes of the wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("built")
    call("build", "--no-isolation", "--outdir", folder, TOP)
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory, built) -> Path:
    """Install the wheel into an empty folder and return that."""
    target = tmp_path_factory.mktemp("installed")
    (wheel,) = built.glob("*.whl")
    call("pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel)
    return target


def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def normexp(installed: Path, folder: Path, *arguments: object) -> str:
    """Call the installed package from `folder`, the checkout out of sight."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    return call("normexp", *arguments, cwd=folder, env=environment).stdout


def test_package_metadata_is_what_an_index_takes(built):
    pytest.importorskip("twine")
    files = sorted(built.iterdir())
    assert [path.name.split("-")[0] for path in files] == ["normexp", "normexp"]
    printed = call("twine", "check", "--strict", *files).stdout
    assert printed.count("PASSED") == 2


def test_package_addresses_are_those_of_the_papers():
    urls = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["urls"]
    schemes = [yaml.safe_load(path.read_text()) for path in (TOP / "configs" / "norm").glob("*.yaml")]
    ours = {f"Paper: {each['_called_']}": each["_source_"].rpartition("arXiv:")[2] for each in schemes}
    assert urls
    assert urls == {label: f"https://arxiv.org/abs/{ours.get(label)}" for label in urls}


def test_package_is_small(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < LARGEST


def test_package_has_what_is_read(installed):
    inside = installed / "normexp"
    for name in ("py.typed", "SKILL.md", "__init__.pyi", *(f"cli/shells/normexp.{shell}" for shell in SHELLS)):
        assert (inside / name).is_file(), name


def test_package_command_works_in_an_empty_folder(installed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    words = [installed / "bin" / "normexp", "run", "norm=batch", "model=linear", "steps=2", "--quiet"]
    done = subprocess.run(list(map(str, words)), cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / done.stdout.strip() / "status.json").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_package_configs_are_those_of_the_checkout(installed):
    inside = {path.relative_to(installed / "normexp") for path in (installed / "normexp" / "configs").rglob("*.yaml")}
    assert inside == {path.relative_to(TOP) for path in (TOP / "configs").rglob("*.yaml")}


def test_package_uses_its_own_configs(installed, tmp_path):
    own = installed / "normexp" / "configs" / "norm" / "batch.yaml"
    text = own.read_text()
    own.write_text(text.replace("momentum: 0.1", "momentum: 0.125"))
    assert "momentum: 0.125" in normexp(installed, tmp_path, "run", "norm=batch", "--cfg")
    own.write_text(text)


def test_package_runs_from_another_folder(installed, tmp_path):
    printed = normexp(installed, tmp_path, "run", "norm=batch", "model=linear", "steps=5")
    run = tmp_path / printed.splitlines()[-1]
    assert (run / "metrics.csv").read_text().startswith("step,epoch,lr,")
    assert '"commit": null' in (run / "environment.json").read_text()  # not a checkout


def test_package_leaves_no_tests_or_scripts_in_the_way(installed):
    top = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"normexp", "bin"}
