"""
A law, measured
===============

Most claims about normalization are about accuracies. A few are formulas: in a deep batch-normalized network without
nonlinearity the squared gradient grows on its way down by the factor (B - 2) / (B - 3) in every layer, B being the
batch size; with ReLU the factor tends to pi / (pi - 1) as B grows (Yang et al. 2019).
"""

from math import pi
from tempfile import mkdtemp

import matplotlib.pyplot as plt

import normexp

results_dir = mkdtemp()  # without it, runs are kept in results/

# %%
# A study is measured instead of trained. Here the network has 20 layers of 200 units; the experiment behind
# ``normexp reproduce law_batch_norm_explosion`` has 40 of 1,000, where less is left of chance.

network = ["study=batch_norm_explosion", "study.depth=20", "study.width=200", "norm.eps=1e-12", "threads=1"]
settings = ["study.activation=identity,relu", "study.batch=8,32,128", "norm=batch", f"results_dir={results_dir}"]
normexp.sweep([*network, *settings], jobs=1)

results = normexp.load(results_dir)
curves = results.curves.merge(results.runs[["run", "study.activation", "study.batch"]])
growth = curves[curves["metric"] == "growth"].groupby(["study.activation", "study.batch"])["value"].last().unstack(0)
print(growth.round(3))

# %%
# Beside the formula and the published limit.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(growth, "o", label=[f"measured, {name}" for name in growth.columns])
axes.plot(growth.index, [(b - 2) / (b - 3) for b in growth.index], label="(B - 2) / (B - 3)")
axes.axhline(pi / (pi - 1), color="0.6", label="π / (π - 1)")
axes.set(xlabel="batch size B", ylabel="growth of the squared gradient per layer", xscale="log")
_ = axes.legend()

# %%
# :doc:`/docs/laws` has this law and others at full scale, with intervals over seeds and with controls that have to
# break them.
