"""Any combination of optimizer, clipping, initial weights, scheme and precision resumes to the same bytes."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mortal import Killed, train_until

from normexp.config import compose, options
from normexp.errors import UserError
from normexp.records import CHECKPOINT, METRICS, PROBES, RunDirectory

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


def train(path: Path, overrides: list[str], saved: int = 0, dies: int | None = None) -> dict[str, bytes]:
    train_until(compose([*TINY, *overrides]), path, {saved}, dies)
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
