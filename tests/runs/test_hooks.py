"""The hooks that training calls, `penalty` and `step_hook`: they act in every step, and they resume."""

from pathlib import Path

import pytest
import torch
from mortal import Killed, train_until
from safetensors.torch import load_file

from normexp.config import compose
from normexp.records import CHECKPOINT, METRICS

TINY = ["model=cnn", "model.widths=[8,8]", "batch_size=16", "dataset.subset=64", "threads=1", "optim.lr=0.05"]
TINY += ["steps=6", "eval_every=3", "device=cpu"]


def train(path: Path, overrides: list[str], dies: int | None = None) -> dict[str, bytes]:
    """Train in `path`, or continue; if told so, save a checkpoint before the step at which the process dies."""
    path.mkdir(exist_ok=True)
    train_until(compose([*TINY, *overrides]), path, {dies - 1} if dies else (), dies)
    return {name: (path / name).read_bytes() for name in (METRICS, CHECKPOINT)}


def test_normprop_projects_after_every_step(tmp_path):
    train(tmp_path / "run", ["norm=normprop"])
    saved = load_file(tmp_path / "run" / CHECKPOINT)
    originals = {name: w for name, w in saved.items() if name.startswith("model/") and name.endswith("original")}
    assert len(originals) == 2
    for weight in originals.values():
        torch.testing.assert_close(weight.flatten(1).norm(dim=1), torch.ones(len(weight)))


def test_normprop_without_projection_grows(tmp_path):
    train(tmp_path / "run", ["norm=normprop", "norm.project=false"])
    saved = load_file(tmp_path / "run" / CHECKPOINT)
    weight = next(w for name, w in saved.items() if name.startswith("model/") and name.endswith("original"))
    assert (weight.flatten(1).norm(dim=1) - 1).abs().min() > 1e-4


def test_penalty_changes_training(tmp_path):
    plain, penalized = (
        train(tmp_path / name, [f"norm={name}", *more])
        for name, more in (("none", []), ("spectral_penalty", ["norm.strength=1"]))
    )
    assert plain[METRICS] != penalized[METRICS]
    assert plain[METRICS].splitlines()[:2] == penalized[METRICS].splitlines()[:2]  # the same initial network


@pytest.mark.parametrize("norm", ["spectral", "spectral_penalty", "normprop", "scaled_weight_standard"])
def test_a_killed_run_ends_in_the_same_bytes(tmp_path, norm):
    expected = train(tmp_path / "whole", [f"norm={norm}"])
    with pytest.raises(Killed):
        train(tmp_path / "killed", [f"norm={norm}"], dies=5)
    torch.rand(3)  # another process has another random state
    assert train(tmp_path / "killed", [f"norm={norm}"]) == expected


@pytest.mark.parametrize("init", ["data_dependent", "lsuv"])
@pytest.mark.parametrize("norm", ["weight", "weight_mean_only"])
def test_a_killed_run_sums_its_gradients_in_the_same_order(tmp_path, norm, init):
    """Weights that were set from data keep the memory layout that they have when a run is continued."""
    overrides = [f"norm={norm}", f"init={init}", "clip_norm=0.1", "model.widths=[16,16]"]
    expected = train(tmp_path / "whole", overrides)
    with pytest.raises(Killed):
        train(tmp_path / "killed", overrides, dies=3)
    assert train(tmp_path / "killed", overrides) == expected


@pytest.mark.parametrize("dies", [2, 3, 5])
def test_population_estimates_come_before_every_evaluation_and_resume(tmp_path, dies):
    overrides = ["norm=batch", "norm.estimates=population"]
    whole = train(tmp_path / "whole", overrides)
    with pytest.raises(Killed):
        train(tmp_path / "killed", overrides, dies)
    assert train(tmp_path / "killed", overrides) == whole
    running = train(tmp_path / "running", ["norm=batch"])
    saved, other = (load_file(tmp_path / name / CHECKPOINT) for name in ("whole", "running"))
    moved = {name for name in saved if name.startswith("model/") and not torch.equal(saved[name], other[name])}
    assert moved
    assert all("running_" in name or "num_batches" in name for name in moved)  # training is the same
    columns = [line.split(b",") for line in whole[METRICS].splitlines()[1:]]
    assert columns != [line.split(b",") for line in running[METRICS].splitlines()[1:]]


@pytest.mark.parametrize("dies", [2, 4, 5])
def test_schedule_of_beta1_acts_and_resumes(tmp_path, dies):
    """The rate falls, and beta1 with it, from the fourth step on."""
    overrides = ["optim=adam", "schedule=linear_tail", "schedule.beta1=0.5"]
    whole = train(tmp_path / "whole", overrides)
    with pytest.raises(Killed):
        train(tmp_path / "killed", overrides, dies)
    assert train(tmp_path / "killed", overrides) == whole
    assert train(tmp_path / "usual", overrides[:2]) != whole
