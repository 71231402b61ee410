"""
A scheme of one's own, in one file
==================================

A scheme is one class. Nothing of normexp is changed, and the new one stands beside the others in tables and figures.
:doc:`/docs/own_scheme` has the rules.
"""

import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt

import normexp

# %%
# The file. ``normalization`` returns a torch module that takes the pre-activations of a layer with ``num_features``
# channels: here each example is divided by its largest absolute value, and every channel has a gain.

FILE = '''
from dataclasses import dataclass

import torch
from torch import nn

from normexp.norms.base import Norm


class ByLargest(nn.Module):
    def __init__(self, num_features, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(num_features)), eps

    def forward(self, x):
        largest = x.flatten(1).abs().amax(1) + self.eps
        shape = [-1] + [1] * (x.ndim - 1)
        return x / largest.view(shape) * self.weight.view(1, -1, *shape[2:])


@dataclass(frozen=True, kw_only=True)
class Largest(Norm):
    """Divide every example by its largest absolute value."""

    eps: float = 1e-5

    def normalization(self, num_features):
        return ByLargest(num_features, self.eps)
'''

# %%
# ``plugins`` names the modules that a configuration may import; code that is not named there is refused. The command
# is ``normexp sweep norm=none,layer,my_norms.Largest 'plugins=[my_norms]' 'seed=range(3)'``.

os.chdir(mkdtemp())  # nothing of this stays in your folder
Path("my_norms.py").write_text(FILE)
sweep = ["norm=none,layer,my_norms.Largest", "plugins=[my_norms]", "seed=range(3)"]
normexp.sweep([*sweep, "model=mlp", "steps=60", "eval_every=10", "threads=1"], jobs=1)
results = normexp.load("results/runs")
print(results.table())

# %%
# The mean over three seeds; at one learning rate for all, which says how fast, and not which is best.

curves = results.curves[results.curves["metric"] == "test/accuracy"]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
curves.pivot_table(index="step", columns="arm", values="value", sort=False).plot(ax=axes)
_ = axes.set(ylabel="test accuracy")

# %%
# ``normexp check norm=my_norms.Largest 'plugins=[my_norms]'`` holds it to the contract that all schemes are held to:
# shapes, gradients, half precision, what depends on the batch. ``normexp new experiment mine --like mnist1d_schemes``
# begins an experiment with 29 schemes, whose runs are recorded, and yours.
