"""`normexp verify resume`: a run that is killed at random instants ends in the same bits as one that is not.

The control takes the random states out of the checkpoint after every kill; it must end in other bits, or the check
would notice nothing.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normexp.children import child, python
from normexp.config import Config, compose
from normexp.config.allowed import check_count
from normexp.config.overrides import check_once
from normexp.config.recipe import with_recipe
from normexp.errors import UserError
from normexp.records import CHECKPOINT, FINISHED, METRICS, PROBES, RunDirectory
from normexp.runs.place import default_run_dir, with_content
from normexp.sweeps.prefetch import prefetch, to_download

EARLY = "ended before it could be killed, which proves nothing; give more steps"
Say = Callable[[str], None]

# Noise, dropout and augmentation: all that draws at random while a network trains.
USUAL = (
    "model=inception_small model.width=0.25 model.dropout=0.5 norm=batch optim=adam dataset.crop=1 dataset.subset=320 "
    "batch_size=16 steps=400 eval_every=150 threads=1"
)
REFUSED = 2  # the exit status of a mistake
TRIES = 3  # at killing a run before its end
LONGEST = 600.0  # seconds that one attempt may take
OFTEN = """
import normexp.runs.checkpointer as checkpointer, normexp.runs.trainer as trainer
checkpointer.SAVE_INTERVAL = trainer.POLL_INTERVAL = 0.02
from normexp.cli.verbs import main
raise SystemExit(main())
"""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its curves as bytes, and the digest of every tensor of its checkpoint."""

    curves: dict[str, bytes]
    tensors: dict[str, str]

    def differences(self, other: Outcome) -> list[str]:
        """Return what differs: weights, optimizer, generators, curves."""
        parts = {"model": "weights", "optimizer": "optimizer", "random": "generators", "window": "window"}
        names = sorted(self.tensors.keys() | other.tensors.keys())
        wrong = [name.partition("/")[0] for name in names if self.tensors.get(name) != other.tensors.get(name)]
        curves = [name for name in self.curves if self.curves[name] != other.curves.get(name)]
        return [*dict.fromkeys(parts.get(part, part) for part in wrong), *curves]


Attempt = Callable[[Path, float], tuple[Outcome, int]]  # where, in how many seconds -> outcome, how often killed


def verify_resume(overrides: Sequence[str], kills: int, seed: int, say: Say) -> int:
    """Train, kill, continue and compare; then the control. Return 1 if the bits differ, or the control's do not.

    Raises: UserError for overrides that leave no training to kill.
    """
    typed = list(overrides) or USUAL.split()
    check_count("verify resume: --kills", kills)
    check_once(typed)
    if given := [word for word in typed if word.startswith("results_dir=")]:
        raise UserError(f"verify resume: {given[0]}: it trains in a folder of its own; leave it out")
    words = with_recipe(typed)
    config = compose(words)
    if config.choices["study"] != "none":
        raise UserError("verify resume: a study starts again when it was killed; give a training run")
    to_download([config])
    prefetch([config])
    with tempfile.TemporaryDirectory(prefix="normexp-verify-") as folder:
        whole, seconds = uninterrupted(words, Path(folder) / "whole")
        say(f"{' '.join(words)}: trained without a stop ({seconds:.1f} s of training)")
        instants = random.Random(seed)

        def killing(change: Callable[[Path], None]) -> Attempt:
            return lambda results, seconds: interrupted(words, results, kills, seconds, instants, change)

        done, killed = until_killed(killing(lambda path: None), Path(folder) / "killed", seconds)
        wrong = whole.differences(done)
        said = f"{', '.join(wrong)} differ" if wrong else "every bit is equal"
        say(f"killed {killed} times and continued: {said}" if killed or wrong else EARLY)
        control, times = until_killed(killing(forget_random_states), Path(folder) / "control", seconds)
        noticed = whole.differences(control)
        told = f"{', '.join(noticed)} differ, as they must" if noticed else "nothing differs, so it proves nothing"
        say(f"control, {f'killed {times} times without the random states: {told}' if times else EARLY}")
    return 1 if wrong or not killed or not noticed else 0


def uninterrupted(words: Sequence[str], results: Path) -> tuple[Outcome, float]:
    """Train without a stop; return the outcome and the seconds of training. Raises UserError where `run` refuses."""
    with _attempt(words, results, subprocess.PIPE) as process:
        said = _ended(process)
    if process.returncode == REFUSED:
        raise UserError(said.decode(errors="replace").strip().removeprefix("normexp: "))
    run = RunDirectory(default_run_dir(_config(words, results)))
    return _outcome(run), float(run.status.get("seconds", 0.0))


def until_killed(attempt: Attempt, results: Path, seconds: float) -> tuple[Outcome, int]:
    """Make an attempt; once more, at earlier instants, where a machine that was busy before is fast now."""
    for number in range(TRIES):
        done, killed = attempt(results / str(number), seconds / 4**number)
        if killed:
            break
    return done, killed


def interrupted(
    words: Sequence[str],
    results: Path,
    kills: int,
    seconds: float,
    instants: random.Random,
    change: Callable[[Path], None],
) -> tuple[Outcome, int]:
    """Train, killed at random instants; return the outcome, and how often it was killed before its end.

    Args:
        change: what is done to the checkpoint after every kill.
    """
    run, killed = RunDirectory(default_run_dir(_config(words, results))), 0
    for _ in range(kills):
        with _attempt(words, results) as process:
            if not _is_killed(process, run, instants.uniform(0, seconds / (kills + 1))):
                continue
        if run.status["status"] in FINISHED:  # it had ended, and was only leaving
            break
        killed += 1
        if (run.path / CHECKPOINT).exists():
            change(run.path / CHECKPOINT)
    with _attempt(words, results) as process:
        _ended(process)
    return _outcome(run), killed


def _is_killed(process: subprocess.Popen[bytes], run: RunDirectory, later: float) -> bool:
    """Kill an attempt so many seconds after it has saved the run; return False where it ended before."""
    before, until = _saved(run), time.monotonic() + LONGEST
    while process.poll() is None and _saved(run) == before and time.monotonic() < until:
        time.sleep(0.005)
    try:
        process.wait(later)
    except subprocess.TimeoutExpired:
        process.kill()
        return True
    return False


def _ended(process: subprocess.Popen[bytes]) -> bytes:
    """Return what an attempt said once it has ended. Raises UserError for one that takes too long, which is killed."""
    try:
        return process.communicate(timeout=LONGEST)[1] or b""
    except subprocess.TimeoutExpired:
        process.kill()
        raise UserError(f"verify resume: not over after {LONGEST:g} s; give a shorter run, with steps=N") from None


def forget_random_states(path: Path) -> None:
    """Write a checkpoint again with the state of a generator that nothing has drawn from."""
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        facts = json.loads(file.metadata()["facts"])
    tensors["random/cpu"] = torch.Generator().manual_seed(0).get_state()
    facts.pop("sha256", None)  # a checkpoint of an older version has none
    save_file(tensors, path, metadata={"facts": json.dumps(facts, sort_keys=True)})


def _attempt(
    words: Sequence[str], results: Path, stderr: int = subprocess.DEVNULL
) -> AbstractContextManager[subprocess.Popen[Any]]:
    command = python(OFTEN, "run", *words, "recipe=none", f"results_dir={results}", "--quiet")
    return child(command, stdout=subprocess.DEVNULL, stderr=stderr)


def _config(words: Sequence[str], results: Path) -> Config:
    return with_content(compose([*words, f"results_dir={results}"]))


def _saved(run: RunDirectory) -> int | None:
    """Return what changes when the run saves itself."""
    try:
        return (run.path / CHECKPOINT).stat().st_ino
    except FileNotFoundError:
        return None


def _outcome(run: RunDirectory) -> Outcome:
    """Return how a run ended. Raises UserError where it did not end."""
    from hashlib import sha256

    from safetensors.torch import load

    status = run.status
    if status["status"] not in FINISHED:
        raise UserError(f"verify resume: the run ended as {status['status']}: {status.get('cause', 'no cause')}")
    tensors = load(run.read(CHECKPOINT, 2**36)) if run.has(CHECKPOINT) else {}
    digests = {name: sha256(tensor.numpy().tobytes()).hexdigest() for name, tensor in tensors.items()}
    return Outcome({name: run.read(name) for name in (METRICS, PROBES)}, digests)
