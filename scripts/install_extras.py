"""Installs extras of pyproject.toml, in the versions of constraints.txt, into the environment of this Python.

    python scripts/install_extras.py slurm ray

What is there already takes no time: pip would install normexp anew, under whatever runs beside it.
"""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement

TOP = Path(__file__).resolve().parent.parent
EXTRAS = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def is_there(need: str) -> bool:
    """Whether a requirement is met by what is installed, or is none on this machine."""
    wanted = Requirement(need)
    if wanted.marker and not wanted.marker.evaluate():
        return True
    try:
        return wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        return False


def main(*names: str) -> int:
    """Return pip's exit status, 0 where nothing is missing."""
    missing = [name for name in names if not all(map(is_there, EXTRAS[name]))]
    if not missing:
        return 0
    words = ["install", "--quiet", "-e", f".[{','.join(missing)}]", "-c", "constraints.txt"]
    return subprocess.run([sys.executable, "-m", "pip", *words], cwd=TOP).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
