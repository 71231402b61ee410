"""
Comparing schemes with paired seeds
===================================

How sure can one be of a difference after a few seeds? With one seed every scheme starts from the same weights and sees
the same batches. What that start is worth to all schemes alike cancels in the difference of the two; the rest does not.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt
from scipy import stats

import normexp

results_dir = mkdtemp()  # without it, runs are kept in results/

settings = ["model=mlp", "steps=60", "eval_every=60", "threads=1", f"results_dir={results_dir}"]
normexp.sweep([*settings, "norm=batch,ghost_batch,none", "seed=range(6)"], jobs=1)
curves = normexp.load(results_dir).curves
last = curves[(curves["metric"] == "test/loss") & (curves["step"] == 60)]
losses = last.pivot_table(index="seed", columns="arm", values="value")
print(losses.round(4))

# %%
# Two questions to the same runs: does batch normalization differ from its sibling that takes statistics over chunks of
# the batch, and from no normalization? Each answer as a 95 % interval of the difference, with and without pairing.


def intervals(other: str) -> None:
    """Print how far a scheme is from batch normalization, in both ways."""
    a, b = losses[other], losses["batch"]
    ways = {"paired": stats.ttest_rel(a, b), "unpaired": stats.ttest_ind(a, b, equal_var=False)}
    print(f"{other} - batch, correlation over the seeds {a.corr(b):.2f}")
    for way, test in ways.items():
        low, high = test.confidence_interval()
        print(f"  {way:8} {low:+.4f} to {high:+.4f}, width {high - low:.4f}")


for other in ("ghost_batch", "none"):
    intervals(other)

# %%
# A line is a seed. Schemes that are nearly the same share the luck of a seed; then the lines run side by side, and
# pairing makes the interval narrower. Very different schemes need not share it, and pairing may make theirs wider.

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.plot(losses.columns, losses.T, color="0.6", marker="o")
_ = axes.set(ylabel="test loss after 60 steps")

# %%
# ``normexp reproduce NAME`` judges claims in this way: differences paired by seed, corrected for the number of claims,
# with verdicts ``holds``, ``contradicted`` and ``undecided``. Whether losses of one rate for all say anything of the
# schemes is another question; :doc:`/docs/experiments` shows how an experiment chooses a rate for each.
