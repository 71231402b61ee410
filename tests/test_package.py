"""The wheel works by itself, from any folder: its configs travel inside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Build the wheel from a copy of the sources, install it into an empty folder and return that."""
    built, target = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    call("build", "--wheel", "--no-isolation", "--outdir", built, ROOT)
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


def test_package_configs_are_those_of_the_checkout(installed):
    inside = {path.relative_to(installed / "normexp") for path in (installed / "normexp" / "configs").rglob("*.yaml")}
    assert inside == {path.relative_to(ROOT) for path in (ROOT / "configs").rglob("*.yaml")}


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
