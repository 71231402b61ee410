"""
Why is my network worse in eval()?
==================================

A network of your own in plain PyTorch, trained for a short time: better in ``train()`` than in ``eval()``.
``normexp.diagnose`` says why, and ``normexp.recalibrate`` repairs it. :doc:`/docs/diagnose` has all faults it knows.
"""

import copy

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import normexp

torch.manual_seed(0)
pixels, labels = load_digits(return_X_y=True)
x = torch.from_numpy(pixels.astype(np.float32) / 4)
y = torch.from_numpy(labels)
model = nn.Sequential(
    nn.Linear(64, 64),
    nn.BatchNorm1d(64, momentum=0.001),  # the weight of the new batch; somebody thought of the old one's
    nn.ReLU(),
    nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for start in 5 * list(range(0, 1280, 64)):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[start : start + 64]), y[start : start + 64]).backward()
    optimizer.step()


def accuracy(training: bool) -> float:
    """Return the share of right answers on the last 256 images, which were not trained on."""
    seen = copy.deepcopy(model).train(training)  # train() moves the running estimates
    with torch.no_grad():
        return (seen(x[-256:]).argmax(1) == y[-256:]).float().mean().item()


print(f"train() {accuracy(True):.3f}, eval() {accuracy(False):.3f}")

# %%
# The reason, from one look at training data.

model.eval()
print(normexp.diagnose(model, x[:1280]))

# %%
# Exact statistics of the training data, in place; nothing is trained. In the figure a dot is a channel: its mean as it
# is, and as the moving average had it, which should lie on the line.

before = model[1].running_mean.clone()
normexp.recalibrate(model, x[:1280])
figure, axes = plt.subplots(figsize=(4, 3.5), layout="constrained")
axes.scatter(model[1].running_mean, before)
axes.axline((0, 0), slope=1, color="0.6")
_ = axes.set(xlabel="mean of the training data", ylabel="moving average")

# %%
print(f"train() {accuracy(True):.3f}, eval() {accuracy(False):.3f}")
print(normexp.diagnose(model, x[:1280]))

# %%
# ``normexp.to_groups(model)`` would put group normalization in its place, which has no running statistics and cannot
# have this fault; the network is then trained further.
