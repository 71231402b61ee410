"""Online normalization (Chiley et al. 2019) as a loop over examples, forward and backward."""

import numpy as np
from reference import Array, NoNorm, per_channel


class Formula(NoNorm):
    running = dict.fromkeys(("running_mean", "scale_control", "mean_control"), np.zeros(1)) | {
        "running_var": np.ones(1)
    }

    def loop(self, x: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Return y, the deviation that divided each example, and the state after the last."""
        a = 1 - self.options["momentum"]
        mean, var = (self.running[name] + np.zeros(x.shape[1]) for name in ("running_mean", "running_var"))
        y, std = np.empty_like(x), np.empty(x.shape[:2])
        for n, example in enumerate(x):
            values = example.reshape(x.shape[1], -1)
            std[n] = np.sqrt(var + self.options["eps"])
            y[n] = ((values - mean[:, None]) / std[n][:, None]).reshape(example.shape)
            own = values.mean(axis=1)
            spread = ((values - own[:, None]) ** 2).mean(axis=1)
            var = a * var + (1 - a) * spread + a * (1 - a) * (own - mean) ** 2
            mean = a * mean + (1 - a) * own
        return y, std, {"running_mean": mean, "running_var": var}

    def tail(self, y: Array, weight: Array | None, bias: Array | None) -> Array:
        z = self.affine(y, weight, bias)
        if self.options["control"] == "none":
            return z
        if self.options["control"] == "clamp":
            return np.where(np.abs(z.real) > 5, 5 * np.sign(z.real), z)
        squares = (z**2).mean(axis=tuple(range(1, z.ndim)), keepdims=True)
        return z / np.sqrt(squares + self.options["eps"])

    def train(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        return self.tail(self.loop(x)[0], weight, bias)

    def evaluate(self, x: Array, weight: Array | None, bias: Array | None) -> Array:
        centred = x - per_channel(self.running["running_mean"], x)
        std = np.sqrt(per_channel(self.running["running_var"], x) + self.options["eps"])
        return self.tail(centred / std, weight, bias)

    def observe(self, x: Array) -> None:
        self.running = {key: value + np.zeros(x.shape[1]) for key, value in self.running.items()} | self.loop(x)[2]

    def backward(self, g: Array, y: Array, std: Array) -> Array:
        """Return the gradient of x from that of y, example by example, and move the two controls."""
        rate = self.options["control_rate"]
        v, u = (self.running[name] + np.zeros(y.shape[1]) for name in ("scale_control", "mean_control"))
        result = np.empty_like(g)
        for n in range(len(g)):
            grad, out = g[n].reshape(len(v), -1), y[n].reshape(len(v), -1)
            grad = grad - rate * v[:, None] * out
            v = v + (grad * out).mean(axis=1)
            grad = grad / std[n][:, None] - rate * u[:, None]
            u = u + grad.mean(axis=1)
            result[n] = grad.reshape(g[n].shape)
        self.running |= {"scale_control": v, "mean_control": u}
        return result
