"""Recurrent cells under every scheme in float64 NumPy, written from the papers; nothing here knows torch.

Sequences are walked through one step at a time; at step t only those rows exist whose sequence is longer than t. All
is analytic, so that gradients by the complex step are exact (see tests/norms/reference.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Parameters = Mapping[str, Array]

EPS = 1e-5
GRID = np.linspace(-12.0, 12.0, 4001)
DENSITY = np.exp(-(GRID**2) / 2) / np.sqrt(2 * np.pi) * (GRID[1] - GRID[0])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def standardize(x: Array, axis: int) -> Array:
    mean = x.mean(axis, keepdims=True)
    var = ((x - mean) ** 2).mean(axis, keepdims=True)
    return (x - mean) / np.sqrt(var + EPS)


def mean_square(fn: Callable[[Array], Array], std: float) -> float:
    """E[fn(std Y)^2], Y ~ N(0, 1), by the trapezoidal rule, which is exact to rounding for smooth functions."""
    return float((DENSITY * fn(std * GRID) ** 2).sum())


@cache
def settled_std(site: str, gain: float = 2.0) -> float:
    """Standard deviation of c, or of h in each cell, when gates are N(0, 2 gain^2) and all else has variance 1."""
    gate = mean_square(sigmoid, np.sqrt(2) * gain)
    if site == "norm_memory":  # v = v E[s(f)^2] + E[s(i)^2] E[tanh(g)^2]
        return np.sqrt(mean_square(np.tanh, np.sqrt(2) * gain) * gate / (1 - gate))
    if site == "lstm":
        return np.sqrt(mean_square(np.tanh, 1.0) * gate)
    if site == "rnn":
        return np.sqrt(mean_square(np.tanh, np.sqrt(2) * gain))
    given_r = [mean_square(np.tanh, gain * np.sqrt(1 + sigmoid(np.sqrt(2) * gain * r) ** 2)) for r in GRID[::20]]
    candidate = 20 * float(DENSITY[::20] @ given_r)  # v = v E[s(z)^2] + E[(1 - s(z))^2] E[n^2]
    return np.sqrt(candidate * gate / (1 - gate))


@dataclass
class Reference:
    """One cell under one scheme.

    Args:
        cell: `lstm`, `gru` or `rnn`.
        scheme: name of the option of `norm`.
        p: the parameters of the cell by their names in the network.
    """

    cell: str
    scheme: str
    p: Parameters

    def weight(self, layer: str) -> Array:
        """W as it acts: (gates H, what enters)."""
        if self.scheme == "weight":
            g, v = (self.p[f"{layer}.parametrizations.weight.original{i}"] for i in (0, 1))
        elif self.scheme == "normprop":
            prefix = f"{layer}.parametrizations.weight"
            g, v = self.p[f"{prefix}.0.gamma"], self.p[f"{prefix}.original"]
        else:
            return self.p[f"{layer}.weight"]
        return g * v / np.sqrt((v**2).sum(1, keepdims=True))

    def normalize(self, site: str, x: Array) -> Array:
        """The scheme at one place."""
        if self.scheme == "layer":
            return self.p[f"{site}.module.weight"] * standardize(x, 1) + self.p[f"{site}.module.bias"]
        if self.scheme == "rms":
            return self.p[f"{site}.module.weight"] * x / np.sqrt((x**2).mean(1, keepdims=True) + EPS)
        if self.scheme == "ssnorm":
            return self.p[f"{site}.module.gain"] * x / np.sqrt((x**2).mean(1, keepdims=True) + EPS)
        if self.scheme == "scale_norm":
            return self.p[f"{site}.module.gain"] * x / np.sqrt((x**2).sum(1, keepdims=True) + EPS)
        if self.scheme == "recurrent_batch":
            return self.p[f"{site}.weight"] * standardize(x, 0) + self.p.get(f"{site}.bias", 0.0)
        if self.scheme == "normprop" and site == "norm_memory":
            return self.p["norm_memory.weight"] * x / settled_std(site)
        return x

    def new_state(self, h: Array) -> Array:
        return h / settled_std(self.cell) if self.scheme == "normprop" else h

    def lstm(self, x: Array, state: list[Array]) -> list[Array]:
        h, c = state
        from_state = self.normalize("norm_state", h @ self.weight("state").T)
        from_input = self.normalize("norm_input", x @ self.weight("input").T)
        i, f, g, o = np.split(from_state + from_input + self.p["bias"], 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return [self.new_state(sigmoid(o) * np.tanh(self.normalize("norm_memory", c))), c]

    def gru(self, x: Array, state: list[Array]) -> list[Array]:
        (h,) = state
        units = h.shape[1]
        u, w = h @ self.weight("state").T, x @ self.weight("input").T
        bias = self.p.get("bias", np.zeros(3 * units))
        gates = self.normalize("norm_state", u[:, : 2 * units]) + self.normalize("norm_input", w[:, : 2 * units])
        r, z = np.split(sigmoid(gates + bias[: 2 * units]), 2, axis=1)
        old = self.normalize("norm_state_candidate", u[:, 2 * units :]) + self.p.get("candidate_bias", 0.0)
        new = self.normalize("norm_input_candidate", w[:, 2 * units :]) + bias[2 * units :]
        return [(1 - z) * self.new_state(np.tanh(new + r * old)) + z * h]

    def rnn(self, x: Array, state: list[Array]) -> list[Array]:
        total = self.normalize("norm_sum", state[0] @ self.weight("state").T + x @ self.weight("input").T)
        return [self.new_state(np.tanh(total + self.p.get("bias", 0.0)))]

    def last(self, x: Array, lengths: Array) -> Array:
        """h: (N, H) after the last step of every sequence of x: (N, T, D)."""
        step = {"lstm": self.lstm, "gru": self.gru, "rnn": self.rnn}[self.cell]
        state = [np.repeat(row[None], len(x), axis=0) for row in self.p["initial"]]
        for t in range(int(lengths.max())):
            there = lengths > t
            new = step(x[there, t], [part[there] for part in state])
            state = [part.astype(np.result_type(part, changed)) for part, changed in zip(state, new, strict=True)]
            for part, changed in zip(state, new, strict=True):
                part[there] = changed
        return state[0]
