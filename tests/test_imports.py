"""The layers of the design: a file imports only from lower lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


@pytest.mark.slow
def test_imports_keep_the_layers():
    done = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_imports_of_the_command_line_are_light():
    code = "import sys, normexp.cli.verbs; sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'hydra')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_imports_of_a_run_leave_the_compiler_out(tmp_path):
    code = (
        "import sys; from normexp.cli.verbs import main; main(sys.argv[1:]); "
        "sys.exit(any(name in sys.modules for name in ('torch._dynamo', 'torchvision', 'pandas', 'matplotlib')))"
    )
    words = [
        "run",
        "dataset=covariate_shift",
        "norm=batch",
        "model=mlp",
        "steps=1",
        f"results_dir={tmp_path}",
        "--quiet",
    ]
    assert subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("path", sorted((ROOT / "normexp").rglob("*.py")), ids=lambda path: path.stem)
def test_imports_have_a_module_docstring_and_a_telling_name(path):
    first = path.read_text().partition("\n")[0]
    assert first.startswith('"""')
    assert path.stem not in ("utils", "helpers", "misc", "common")
