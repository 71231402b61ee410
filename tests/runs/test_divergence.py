"""A run that diverges says what was not finite first, and what is recorded besides stays as it was."""

from pathlib import Path

import pytest

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.records import RunDirectory
from normexp.runs import trainer

TINY = ["model=mlp", "model.widths=[8,8]", "model.activation=identity", "batch_size=32", "steps=30", "eval_every=7"]
TINY += ["device=cpu", "threads=1"]
CASES = {
    "an output": (["optim.lr=1e30", "optim.momentum=0"], "the output of hidden.1.0 in step 2"),
    "weights, after a gradient whose norm overflows is clipped": (
        ["init=gaussian", "init.std=1e10", "clip_norm=1"],
        "the weights hidden.0.0.weight after step 1",
    ),
}


def diverged(path: Path, overrides: list[str]) -> dict[str, object]:
    config = compose([*TINY, *overrides])
    data = instantiate(config["dataset"]).load(config["seed"])
    assert trainer.train(config, data, RunDirectory(path), force=False) == "diverged"
    return RunDirectory(path).status


@pytest.mark.parametrize(("overrides", "origin"), CASES.values(), ids=CASES)
def test_diverged_run_says_what_was_not_finite_first(tmp_path, overrides, origin):
    status = diverged(tmp_path, overrides)
    assert (status["step"], status["first_nonfinite"]) == (2, origin)
    assert isinstance(status["last_finite_loss"], float)  # that of step 1, of the same window


def test_diverged_run_is_repeated_from_its_checkpoint(tmp_path, monkeypatch):
    """The steps before the checkpoint are not done again, and the answer is that of a run without one."""
    slowly = ["optim.lr=10", "optim.momentum=0"]
    expected = diverged(tmp_path / "whole", slowly)
    assert expected["step"] > 3

    class Saving(trainer.Trainer):
        def _poll(self) -> bool:
            if self.position.step == 1:
                self.save("running")
            return super()._poll()

    starts = []
    fit = trainer.fit
    monkeypatch.setattr("normexp.runs.divergence.fit", lambda *given: starts.append(given[1]) or fit(*given))
    monkeypatch.setattr(trainer, "Trainer", Saving)
    found = diverged(tmp_path / "saved", slowly)
    assert starts == [1]
    assert {key: found[key] for key in ("step", "cause", "first_nonfinite")} == {
        key: expected[key] for key in ("step", "cause", "first_nonfinite")
    }


@pytest.mark.parametrize("steps", [1, 7, 8])
def test_run_whose_last_update_ruins_the_network_has_diverged(tmp_path, monkeypatch, steps):
    """No later step has a loss that would show it: such a run counted as finite, with no number to show."""
    fit = trainer.fit

    def ruining(components, *given):
        for update in fit(components, *given):
            if update.done == steps:
                next(components.model.parameters()).data.fill_(float("nan"))
            yield update

    monkeypatch.setattr(trainer, "fit", ruining)
    status = diverged(tmp_path, [f"steps={steps}"])
    assert (status["step"], status["cause"]) == (steps, "the validation loss became nan")
    assert status["first_nonfinite"] == f"the weights hidden.0.0.weight after step {steps}"
    assert isinstance(status["last_finite_loss"], float)
