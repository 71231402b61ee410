"""Any combination of optimizer, clipping, initial weights, scheme and precision resumes to the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from normexp.config import compose, options
from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.records import CHECKPOINT, METRICS, PROBES, RunDirectory
from normexp.runs import trainer

TINY = ["model=cnn", "model.widths=[8,8]", "batch_size=16", "dataset.subset=64", "threads=1", "device=cpu"]
TINY += ["steps=6", "eval_every=2", "probe=gradient_norm"]
CHOICES = {
    "optim": options("optim"),
    "clip_norm": ["null", "0.1", "10"],
    "init": options("init"),
    "norm": options("norm"),
    "precision": ["fp32", "bf16"],
    "schedule": options("schedule"),
}
combinations = st.fixed_dictionaries({key: st.sampled_from(list(values)) for key, values in CHOICES.items()})


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the run gets to know it."""


def train(path: Path, overrides: list[str], saved: int = 0, dies: int = 0) -> dict[str, bytes]:
    class Mortal(trainer.Trainer):
        def _poll(self) -> bool:
            if self.position.step == saved:
                self._save("running")
            if self.position.step == dies:
                raise Killed
            return self.accumulator.first_nonfinite() is not None

    config = compose([*TINY, *overrides])
    data = instantiate(config["dataset"]).load(config["seed"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "Trainer", Mortal)
        patch.setattr(trainer.Recorder, "failed", lambda *_: None)
        trainer.train(config, data, RunDirectory(path), force=False)
    return {name: (path / name).read_bytes() for name in (METRICS, PROBES, CHECKPOINT) if (path / name).exists()}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(combination=combinations, saved=st.integers(1, 5), more=st.integers(0, 1))
def test_any_combination_killed_and_continued_ends_in_the_same_bytes(combination, saved, more):
    overrides = [f"{key}={value}" for key, value in combination.items()]
    with tempfile.TemporaryDirectory() as folder:
        try:
            expected = train(Path(folder) / "whole", overrides)
        except UserError:  # two of them do not go together
            return
        if RunDirectory(Path(folder) / "whole").status["status"] == "diverged":
            return
        with pytest.raises(Killed):
            train(Path(folder) / "killed", overrides, saved, saved + more)
        assert train(Path(folder) / "killed", overrides) == expected
