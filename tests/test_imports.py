"""The layers of the design: a file imports only from lower lines."""

import os
import re
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

TOP = Path(__file__).resolve().parent.parent
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


@pytest.mark.slow
def test_imports_keep_the_layers():
    done = subprocess.run([sys.executable, "-c", LINT], cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


BREACHES = {
    "a module in no layer": ("normexp.stray", ""),
    "an import upwards": ("normexp.norms.kernels.stray", "normexp.training.fit"),
    "an import between parts of one layer": ("normexp.probes.stray", "normexp.models.cnn"),
    "a table that draws figures": ("normexp.report.tables.stray", "normexp.report.figures.chart"),
    "tables that know images": ("normexp.data.tables.stray", "normexp.data.images.idx"),
    "a scheme that imports another": ("normexp.norms.stray", "normexp.norms.batch"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("stray", "imported"), BREACHES.values(), ids=BREACHES)
def test_imports_that_break_the_contract_are_found(tmp_path, stray, imported):
    shutil.copytree(TOP / "normexp", tmp_path / "normexp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TOP / "pyproject.toml", tmp_path)
    (tmp_path / f"{stray.replace('.', '/')}.py").write_text(f"import {imported}\n" if imported else "")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LINT], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert (f"{stray} -> {imported} (l.1)" if imported else "stray") in done.stdout


TYPES_OF_THE_CONTRACT = ("normexp.norms.own.contract", "normexp.norms.own.hooks")  # each is told the class that has it


def test_imports_go_in_no_circle():
    """Those inside functions and of types alone would hide one."""
    graph = grimp.build_graph("normexp", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    for name in TYPES_OF_THE_CONTRACT:
        imports[name].remove("normexp.norms.base")
    TopologicalSorter(imports).prepare()


RUN = "dataset=covariate_shift norm=batch model=mlp steps=1 results_dir=results --quiet"
LIGHT = {
    "the command line": ("import normexp.cli.verbs", ["torch", "numpy", "hydra"]),
    # the process that reproduces an experiment trains nothing itself; to know its commit, it imported torch
    "a declaration": ("from normexp.experiments.freeze import _now; _now()", ["torch"]),
    "tables of runs": ("import normexp.report.commands.runs, normexp.report.tables.runs", ["pydantic"]),
    "a run": (
        f"from normexp.cli.verbs import main; main(['run', *{RUN!r}.split()])",
        ["torch._dynamo", "torchvision", "pandas", "matplotlib"],
    ),
}


@pytest.mark.parametrize(("code", "heavy"), LIGHT.values(), ids=LIGHT)
def test_imports_leave_out_what_is_heavy(tmp_path, code, heavy):
    code = f"{code}; import sys; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0


def test_imports_have_telling_names():
    names = {path.stem for path in (TOP / "normexp").rglob("*.py")}
    assert not names & {"utils", "helpers", "misc", "common"}


def test_folders_of_tests_run_in_any_company():
    """`pytest tests/norms tests/data` loads the conftest of every folder named, and keeps one; so with equal names."""
    files = [path for path in (TOP / "tests").rglob("*.py") if path.stem != "conftest"]
    assert [path for path in files if re.search(r"^(from|import) conftest", path.read_text(), re.MULTILINE)] == []
    assert len({path.stem for path in files}) == len(files)
