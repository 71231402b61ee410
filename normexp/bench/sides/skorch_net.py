"""skorch's training step and its history, over the batches of the resident side."""

from __future__ import annotations

from itertools import islice

from torch import Tensor, nn

from normexp.bench.sides.resident import batches
from normexp.bench.work import Train, Work


def train(work: Work) -> Train:
    from skorch import NeuralNet
    from skorch.callbacks import GradientNormClipping

    class Net(NeuralNet):
        def initialize_optimizer(self, triggered_directly: object = None) -> Net:
            self.optimizer_ = work.optimizer(self.module_)
            return self

        def train_step_single(self, batch: tuple[Tensor, Tensor], **options: object) -> dict[str, Tensor]:
            with work.autocast():
                step: dict[str, Tensor] = super().train_step_single(batch, **options)
            return step

    criterion = nn.CrossEntropyLoss if work.data.task == "classification" else nn.MSELoss
    clipping = [] if work.clip_norm is None else [("clip", GradientNormClipping(work.clip_norm))]
    net = Net(work.model(), criterion=criterion, train_split=None, callbacks=clipping, callbacks__print_log=None)
    net.initialize()
    source = batches(work)

    def steps(count: int) -> list[float]:
        net.notify("on_train_begin")
        net.history.new_epoch()
        losses = []
        for batch in islice(source, count):
            net.history.new_batch()
            net.notify("on_batch_begin", batch=batch, training=True)
            step = net.train_step(batch)
            net.history.record_batch("train_loss", step["loss"].item())
            net.notify("on_batch_end", batch=batch, training=True, **step)
            losses.append(step["loss"].item())
        return losses

    return steps
