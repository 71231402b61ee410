"""
Ten minutes
===========

From nothing to a fair comparison of normalization schemes, without a GPU and without a network: the digits come with
the program. Every block below is Python; the command that does the same stands beside it.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt

import normexp

results_dir = mkdtemp()  # without it, runs are kept in results/

# %%
# One run
# -------
#
# A configuration is one option of every group (data set, network, scheme, optimizer, ...) and any key. At the command
# line it is ``normexp run model=mlp norm=batch steps=100 eval_every=20``.

settings = ["model=mlp", "steps=100", "eval_every=20", "threads=1", f"results_dir={results_dir}"]
run = normexp.run([*settings, "norm=batch"])
print(run.status["status"], "at step", run.status["step"])

# %%
# It leaves one folder with all that is needed to understand it, and to do it again: curves, the whole configuration,
# versions and hardware, the weights.

print(*sorted(path.name for path in run.path.glob("[a-z]*")), sep="\n")

# %%
# The same command again trains nothing: the record is there. A run that was killed goes on where it was.
#
# A mistake is one line, before anything starts.

try:
    normexp.run([*settings, "norm=bacth"])
except normexp.UserError as mistake:
    print(mistake)

# %%
# A comparison
# ------------
#
# A sweep is every combination of the values that are given: ``normexp sweep norm=none,batch,layer 'seed=range(3)'``.
# With one seed every scheme starts from the same weights and sees the same batches, so that differences between schemes
# are paired.

runs = normexp.sweep([*settings, "norm=none,batch,layer", "seed=range(3)"], jobs=1)
print(len(runs), "runs:", {each.status["status"] for each in runs})

# %%
# ``normexp table results/runs`` prints mean ± standard deviation over the seeds.

results = normexp.load(results_dir)
print(results.table())

# %%
# Everything recorded is a tidy pandas table, one row for every run, evaluation and metric; ``normexp plot
# results/runs`` draws the usual figures from it.

curves = results.curves[results.curves["metric"] == "test/accuracy"]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for arm, of_arm in curves.groupby("arm", sort=False):
    by_step = of_arm.groupby("step")["value"]
    axes.plot(by_step.mean(), label=arm)
    axes.fill_between(by_step.min().index, by_step.min(), by_step.max(), alpha=0.2)
axes.set(xlabel="step", ylabel="test accuracy")
_ = axes.legend()

# %%
# The bands reach from the lowest to the highest of three seeds. One learning rate for all is no contest, since every
# scheme deserves a rate of its own: ``normexp sweep norm=none,batch optim.lr=0.02,0.05,0.1`` and then ``normexp best``
# choose it on the validation split.
#
# Where to go on
# --------------
#
# * :doc:`/docs/runs`: all groups, keys and what a run leaves behind.
# * :doc:`/docs/own_scheme` and :doc:`/docs/own_parts`: what you bring yourself.
# * :doc:`/docs/reproduce`: what the papers say, and whether it holds here.
