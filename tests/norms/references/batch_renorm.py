"""Batch renormalization (Ioffe 2017, algorithm 1), with the schedule of section 4."""

import numpy as np
from reference import Array, Batch, per_channel


class Formula(Batch):
    running = {"running_mean": np.zeros(1), "running_std": np.ones(1)}
    step = 0

    def limit(self, start: float, end: float, until: int) -> float:
        """Interpolate between (warmup, start) and (until, end); flat outside."""
        warmup = self.options["warmup"]
        if until <= warmup:
            return end if self.step >= warmup else start
        return float(np.interp(self.step, [warmup, until], [start, end]))

    def statistics(self, x: Array) -> tuple[Array, Array]:
        columns = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)
        mean = columns.mean(axis=1)
        return mean, np.sqrt(((columns - mean[:, None]) ** 2).mean(axis=1) + self.options["eps"])

    def correction(self, x: Array) -> tuple[Array, Array]:
        mean, std = self.statistics(x.real)
        rmax = self.limit(1.0, self.options["rmax"], self.options["rmax_at"])
        dmax = self.limit(0.0, self.options["dmax"], self.options["dmax_at"])
        running_mean, running_std = self.running["running_mean"], self.running["running_std"]
        d = np.clip((mean - running_mean) / running_std, -dmax, dmax)
        return np.clip(std / running_std, 1 / rmax, rmax), d

    def normalize(self, x: Array) -> Array:
        mean, std = self.statistics(x)
        r, d = self.constants if self.constants is not None else self.correction(x)
        return (x - per_channel(mean, x)) / per_channel(std, x) * per_channel(r, x) + per_channel(d, x)

    constants: tuple[Array, Array] | None = None  # r and d of the point at which a gradient is taken

    def observe(self, x: Array) -> None:
        mean, std = self.statistics(x)
        self.move("running_mean", mean)
        self.move("running_std", std)
        self.step += 1

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        centred = x - per_channel(self.running["running_mean"], x)
        return self.affine(centred / per_channel(self.running["running_std"], x), weight, bias)
