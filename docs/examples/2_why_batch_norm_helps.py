"""
Why batch norm helps
====================

Eight layers of sigmoids, ten classes of digits. Without normalization such a network does not begin to learn; with
batch normalization it does. Where the signal gets lost can be measured.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt

import normexp

results_dir = mkdtemp()  # without it, runs are kept in results/

# %%
# Two runs that differ in the scheme alone: the same first weights, the same batches. The probe writes mean and standard
# deviation of what enters every nonlinearity, over training.

deep = ["model=mlp", f"model.widths={[64] * 8}", "model.activation=sigmoid", "probe=moments", "optim.lr=0.1"]
for norm in ("none", "batch"):
    normexp.run([*deep, f"norm={norm}", "steps=300", "eval_every=30", "threads=1", f"results_dir={results_dir}"])

results = normexp.load(results_dir)
print(results.table())

# %%
# Both curves, and how much the inputs of each nonlinearity differ from one test example to another after the training
# (``unit_std_mean``, the standard deviation of a unit over examples, in evaluation mode).

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for arm, curve in results.curves[results.curves["metric"] == "test/accuracy"].groupby("arm", sort=False):
    left.plot(curve["step"], curve["value"], label=arm)
left.set(xlabel="step", ylabel="test accuracy")
left.legend()

probes = results.probes
spread = probes[(probes["statistic"] == "unit_std_mean") & probes["layer"].str.startswith("nonlinearity")]
for arm, rows in spread[spread["step"] == spread["step"].max()].groupby("arm", sort=False):
    right.plot(range(1, len(rows) + 1), rows["value"], marker="o", label=arm)
_ = right.set(xlabel="nonlinearity", ylabel="deviation over examples", yscale="log")
figure.savefig(f"{results_dir}/why_batch_norm_helps.png")
print(f"figure: {results_dir}/why_batch_norm_helps.png")

# %%
# Without normalization every layer of sigmoids shrinks what distinguishes one example from another, until the last
# layers see nothing but a constant, and there is nothing to learn from. Batch normalization restores the spread in
# every layer; that is measured after some updates, because in evaluation mode a new network still has the estimates 0
# and 1, which change nothing.
#
# That is this network. It is no proof that batch normalization helps everywhere, nor that this is why it does where it
# helps: :doc:`the ledger </results/claims>` has what holds, what is contradicted and what stays open.
