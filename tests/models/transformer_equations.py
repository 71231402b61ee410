"""Every placement's formula in float64 NumPy, from the docstrings' sources; nothing here knows torch.

`Equations(arrays, heads, depth, placement).outputs(tokens)` is the whole decoder, with layer normalization as N. The
names of the arrays are those of a GPT's state_dict, and what is not among them is not there: without learned positions
they are rotary, a first layer with twice the second one's inputs is SwiGLU's, and a head of its own is not tied.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

Array = NDArray[np.float64]
EPS = 1e-5


def gelu(x: Array) -> Array:
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def rotated(x: Array) -> Array:
    """Return (T, heads, d) with pairs half of d apart as complex numbers, turned by t 10000^(-2 i / d)."""
    pairs = np.arange(x.shape[-1] // 2)
    angles = np.arange(len(x))[:, None, None] * 10_000.0 ** (-2 * pairs / x.shape[-1])
    z = (x[..., : len(pairs)] + 1j * x[..., len(pairs) :]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], -1)


def unit(x: Array) -> Array:
    return x / np.sqrt((x**2).sum(-1, keepdims=True))


class Equations:
    """A decoder of `depth` layers; every placement is a method that joins one branch to the stream."""

    def __init__(self, arrays: Mapping[str, Array], heads: int, depth: int, placement: str) -> None:
        self.arrays, self.heads, self.depth, self.placement = arrays, heads, depth, placement

    def norm(self, name: str, x: Array) -> Array:
        """Return layer normalization with the gain and bias called `name`."""
        centred = x - x.mean(-1, keepdims=True)
        y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPS)
        return y * self.arrays[f"{name}.module.weight"] + self.arrays[f"{name}.module.bias"]

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.arrays[f"{name}.weight"].T + self.arrays[f"{name}.bias"]

    def attention(self, at: str, x: Array) -> Array:
        """Return softmax(Q K^T / sqrt(d)) V per head, one position after the other, over the positions so far."""
        steps, width = x.shape
        d = width // self.heads
        q, k, v = (part.reshape(steps, self.heads, d) for part in np.split(self.linear(f"{at}.qkv", x), 3, axis=1))
        scale = 1 / math.sqrt(d)
        if f"{at}.query.module.weight" in self.arrays:
            q, k = self.norm(f"{at}.query", q), self.norm(f"{at}.key", k)
        if self.placement == "hybrid":
            v = self.norm(f"{at}.value", v)
        if self.placement == "ngpt":
            gain = self.arrays[f"{at}.query.1.weight"][:, 0] * math.sqrt(width)  # stored as gain / sqrt(C)
            q, k, scale = gain * unit(q), gain * unit(k), math.sqrt(d)
        if "positions.weight" not in self.arrays:
            q, k = rotated(q), rotated(k)
        heads = np.zeros((steps, self.heads, d))
        for t in range(steps):
            for h in range(self.heads):
                weights = np.exp(scale * (k[: t + 1, h] @ q[t, h]))
                heads[t, h] = weights @ v[: t + 1, h] / weights.sum()
        together = heads.reshape(steps, width)
        if self.placement == "sub":
            together = self.norm(f"{at}.inner", together)
        return self.linear(f"{at}.output", together)

    def feed_forward(self, at: str, x: Array) -> Array:
        h = self.linear(f"{at}.expand", x)
        if self.placement == "ngpt":
            h = h * self.arrays[f"{at}.entering.weight"] * math.sqrt(x.shape[1])
        half = self.arrays[f"{at}.output.weight"].shape[1]
        h = gelu(h) if h.shape[1] == half else h[:, :half] / (1 + np.exp(-h[:, :half])) * h[:, half:]
        return self.linear(f"{at}.output", self.norm(f"{at}.inner", h) if self.placement == "sub" else h)

    def outputs(self, tokens: list[int]) -> Array:
        table = self.arrays["tokens.weight"]
        x = table[tokens]
        if "positions.weight" in self.arrays:
            x = x + self.arrays["positions.weight"][: len(tokens)]
        if self.placement == "peri":
            x = self.norm("entry.0", x)
        if self.placement == "ngpt":
            x = unit(x)
        for layer in range(self.depth):
            for place, branch in enumerate((self.attention, self.feed_forward)):
                x = self.join(f"layers.{layer}.{place}", branch, x, layer + 1, place)
        if "final.module.weight" in self.arrays:
            x = self.norm("final", x)
        logits = x @ self.arrays.get("head.weight", table).T
        return logits * self.arrays["outputs.weight"] * math.sqrt(x.shape[1]) if self.placement == "ngpt" else logits

    def join(self, at: str, branch: Callable[[str, Array], Array], x: Array, layer: int, place: int) -> Array:
        """Return the stream behind one branch: f(x) of place 0 is attention, of place 1 feed-forward."""

        def f(y: Array) -> Array:
            return branch(f"{at}.branch", y)

        a: dict[str, Any] = {name.removeprefix(f"{at}."): v for name, v in self.arrays.items() if name.startswith(at)}
        kind = self.placement
        if kind == "mix":
            kind = "post" if layer <= math.ceil(0.25 * self.depth) else "pre"
        if kind in ("pre", "sub"):
            return x + f(self.norm(f"{at}.before", x))
        if kind == "post":
            return self.norm(f"{at}.after", x + f(x))
        if kind == "peri":
            return x + self.norm(f"{at}.within", f(self.norm(f"{at}.before", x)))
        if kind == "reordered":
            return x + self.norm(f"{at}.within", f(x))
        if kind == "deepnorm":
            return self.norm(f"{at}.after", (2 * self.depth) ** 0.25 * x + f(x))
        if kind == "layernorm_scaling":
            return x + f(self.norm(f"{at}.before.0", x) / math.sqrt(layer))
        if kind == "hybrid" and place == 1:
            z = self.norm(f"{at}.first", x)
            return z + f(z)
        if kind == "rezero":
            return x + self.arrays[f"{at[:-1]}0.within.weight"] * f(x)
        if kind == "skipinit":
            return x + a["within.weight"] * f(x)
        if kind == "fixup":
            return x + a["within.0.weight"] * f(x + a["before.bias"]) + a["within.1.bias"]
        if kind == "ngpt":
            rate = np.abs(a["rate.weight"] * 0.05 * math.sqrt(x.shape[1]))
            return unit(x + rate * (unit(f(x)) - x))
        return x + f(x)
