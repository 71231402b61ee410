"""Lightning's Trainer with its CSVLogger, over the batches of the resident side."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from normexp.bench.sides.resident import batches
from normexp.bench.work import Train, Work


def train(work: Work) -> Train:
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    folder = tempfile.mkdtemp(prefix="normexp-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.loss_of, self.losses = work.model(), work.loss, [0.0][:0]
            self.made = work.optimizer(self.model)

        def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
            loss = self.loss_of(self.model(batch[0]), batch[1])
            self.log("train_loss", loss)
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self) -> Any:
            return self.made

    module, source = Module(), Endless(work)

    def steps(count: int) -> list[float]:
        module.losses = []
        trainer = lightning.Trainer(
            accelerator="cpu",
            precision="bf16-mixed" if work.bf16 else "32-true",
            gradient_clip_val=work.clip_norm,
            max_steps=count,
            logger=CSVLogger(folder),
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(module, source)
        return module.losses

    return steps


class Endless(torch.utils.data.IterableDataset[Any]):
    """The resident side's batches as a loader; going on where the last turn stopped."""

    def __init__(self, work: Work) -> None:
        self.source = batches(work)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return self.source
