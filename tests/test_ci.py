"""What CI and the images are made of fits this checkout."""

from __future__ import annotations

import os
import re
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parent.parent


def test_the_workflow_runs_what_ci_runs():
    workflow = yaml.safe_load((TOP / ".github" / "workflows" / "ci.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert ".ci/run" in commands
    assert os.access(TOP / ".ci" / "run", os.X_OK)


def test_the_image_has_both_targets_and_is_given_what_the_wheel_needs():
    recipe = (TOP / "Dockerfile").read_text()
    assert {"cpu", "cuda"} <= set(re.findall(r"^FROM \S+ AS (\w+)$", recipe, re.MULTILINE))
    allowed = {line[1:] for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert all((TOP / name).exists() for name in allowed)
    assert {"normexp", "configs", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} <= allowed
