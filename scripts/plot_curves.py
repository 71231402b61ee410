"""Figures from the metrics.csv files of a folder: python scripts/plot_curves.py results/runs curves.png test/accuracy

One line per arm, the mean over its seeds, with a band of one standard deviation. Change it to draw what you need;
`normexp plot` draws the same runs with more care.
"""

import sys

import matplotlib.pyplot as plt

import normexp


def main(folder: str, out: str, metric: str = "test/accuracy") -> None:
    curves = normexp.load(folder).curves.query("metric == @metric and status == 'done'")
    figure, axes = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
    for arm, runs in curves.groupby("arm", sort=False):
        by_step = runs.groupby("step")["value"].agg(["mean", "std"]).fillna({"std": 0})
        (line,) = axes.plot(by_step.index, by_step["mean"], label=arm)
        low, high = by_step["mean"] - by_step["std"], by_step["mean"] + by_step["std"]
        axes.fill_between(by_step.index, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="step", ylabel=metric)
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(out, dpi=200)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (TypeError, normexp.UserError) as error:
        sys.exit(f"{error}\nusage: python scripts/plot_curves.py FOLDER FIGURE [METRIC]")
