"""What the tests of SLURM and Ray have in common: the sweep, its serial runs, and waiting."""

import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from normexp.records import find_runs
from normexp.sweeps.shared import SharedSweep

CELLS = 24
GRID = ("model=mlp", "norm=none,batch,layer,group", "seed=range(6)", "steps=150", "eval_every=50", "threads=1")
OWN = ("plugins=[slowly]", "schedule=slowly.steady")
PACE = ("executor.heartbeat=0.5", "executor.takeover=4")
PAIR = ("model=linear", "seed=0,1", "steps=100", "eval_every=20", "threads=1", *OWN, "executor.workers=2", *PACE)
MOST = 150.0  # seconds that anything may take here
SLOWLY = '''"""A schedule that takes its time as long as a file `slow` or `slower` lies in the folder of the command."""

import time
from pathlib import Path


def steady(step, total):
    time.sleep(0.02 * Path("slow").exists() + Path("slower").exists())
    return 1.0
'''


class Transcript:
    """What was done and answered, with the seconds since the beginning."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, *words: object) -> None:
        print(f"[{time.monotonic() - self.began:6.1f} s]", *words, flush=True)


class Brake:
    """The schedule in a folder, and its files: `slow` from the start, `slower` where no cell is to end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "slowly.py").write_text(SLOWLY)
        (folder / "slow").touch()

    def harder(self) -> None:
        (self.folder / "slower").touch()

    def release(self) -> None:
        """Let everything run at full speed."""
        for name in ("slower", "slow"):
            (self.folder / name).unlink(missing_ok=True)


def start(environment: Mapping[str, str], folder: Path, *words: str) -> subprocess.Popen[str]:
    """Type a command."""
    command = [sys.executable, "-m", "normexp", *words]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a command; return its exit status, stdout and stderr."""
    try:
        stdout, stderr = process.communicate(timeout=MOST)
    finally:
        process.kill()
    return process.returncode, stdout, stderr


def normexp(environment: Mapping[str, str], folder: Path, *words: str) -> tuple[int, str, str]:
    """Type a command and wait for it; return its exit status, stdout and stderr."""
    return ended(start(environment, folder, *words))


def sweep_on_two_workers(environment: Mapping[str, str], folder: Path, *words: str) -> None:
    """Type a sweep of two cells, which end when each of two workers has one."""
    brake = Brake(folder)
    brake.harder()
    process = start(environment, folder, "sweep", *PAIR, *words)
    try:
        until(lambda: process.poll() is not None or any(folder.glob("results/.sweeps/*/plan.json.gz")))
        until(lambda: process.poll() is not None or len(set(claims(the_sweep(folder)).values())) == 2)
    finally:
        brake.release()
        status, _, stderr = ended(process)
    assert status == 0, stderr


def own_lines(stderr: str) -> str:
    """Return what the program said, without what the engine did."""
    return "\n".join(line for line in stderr.splitlines() if line.startswith("normexp:"))


def files(results: Path) -> dict[tuple[str, str], bytes]:
    """Return what must be the same wherever a run was trained: its curves and its weights."""
    names = ("metrics.csv", "probes.csv", "checkpoint.safetensors")
    return {(run.path.name, name): (run.path / name).read_bytes() for run in find_runs([results]) for name in names}


def the_sweep(folder: Path) -> SharedSweep:
    (path,) = (folder / "results" / ".sweeps").iterdir()
    return SharedSweep(path)


def count_ended(sweep: SharedSweep) -> int:
    return sum(state.end is not None for block in sweep.blocks for state in sweep.states(block).values())


def claims(sweep: SharedSweep) -> dict[str, str]:
    """Return {CELL.GENERATION: its holder, or `taken`} of all claims."""
    found = {name: sweep.folder.read(name) or "" for name in sweep.folder.claims(0)}
    return {name: content.partition(" ")[0] for name, content in found.items() if re.fullmatch(r"\d+\.\d+", name)}


def taken(sweep: SharedSweep) -> list[str]:
    """Return the claims whose cells went on with another worker."""
    return sorted(name for name, holder in claims(sweep).items() if holder == "taken")


def until(condition: Callable[[], object], seconds: float = MOST, why: Callable[[], str] = str) -> None:
    """Wait. Raises AssertionError, with what `why` says, where it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited for {seconds:g} s in vain {why()}"
        time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at, below those that a system gives to whoever asks for any."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("", port)):
            found.append(port)
    return found


def log_of(paths: Sequence[Path]) -> str:
    """Return the last lines of logs, for whoever reads why a daemon did not come up."""
    return "\n".join(
        line for path in paths if path.exists() for line in path.read_text(errors="replace").splitlines()[-15:]
    )
