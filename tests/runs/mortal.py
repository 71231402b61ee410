"""A run that saves and dies where it is told, in this process: every step can be the last one saved, or done."""

from collections.abc import Collection
from pathlib import Path

import pytest

from normexp.config import Config
from normexp.config.instantiate import instantiate
from normexp.data.base import Data
from normexp.records import RunDirectory
from normexp.runs import trainer


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the run gets to know it."""


def train_until(
    config: Config,
    path: Path,
    saves: Collection[int] = (),
    dies: int | None = None,
    data: Data | None = None,
    **flags: bool,
) -> RunDirectory:
    """Train in `path`, or continue; save a checkpoint after each of `saves`, and raise Killed after the step `dies`."""

    class Mortal(trainer.Trainer):
        def _poll(self) -> bool:
            if self.position.step in saves:
                self.save("running")
            if self.position.step == dies:
                raise Killed
            return self.accumulator.first_nonfinite() is not None

    data = data or instantiate(config["dataset"]).load(config["seed"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "Trainer", Mortal)
        patch.setattr(trainer.Recorder, "failed", lambda *_: None)
        trainer.train(config, data, RunDirectory(path), **{"force": False, **flags})
    return RunDirectory(path)
