"""Numbers in documents that are no result: the set-up, printed numbers, definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Document -> phrases; `*` for all of them.
SETTINGS: Mapping[str, Sequence[str]] = {
    "*": ("CIFAR-10", "95 % interval", "batches of 128", "batches of 8", "(batches of 50)"),
    "docs/reproduce.md": (
        "10,000 CIFAR-10 images",
        "like it after 40,000.",
        "figure 1",
        "a schedule made for 200 epochs",
    ),
    "README.md": (
        "Python 3.11",
        "(0.05, momentum 0.9)",
        "batch size 1, 1 x 1 maps",
        "CIFAR-10 shape, batch 128",
        "batch 60: an MLP of three layers of 100.",
    ),
    "docs/probes.md": (
        "rate / norm^2",
        "van Laarhoven 2017, arXiv:1706.05350",
    ),
    "arpit2016_table": ("in 500 updates at the rate that was best of four after 200",),
    "law_batch_norm_explosion": ("pi / (pi - 1) times (B - 2) / (B - 3), fails at B = 256",),
    "law_equilibrium": ("is (1 + drift) times",),
    "mnist1d": ("68 % of the text",),
    "law_least_squares": ("holds from 0.001 to 1 only: above 1 the first step",),
    "law_orthogonalization": ("the theory's -1/2. The printed -0.46 is",),
    "law_selectable_keys": ("The 32 to 51 % of our notes", "At 8 dimensions"),
    "ioffe2015_table": ("31 million steps",),
    "salimans2016_beta1": ("After 100 epochs",),
    "salimans2016_table1": (
        "At 0.003 the",
        "beta1 goes from 0.9 to 0.5",
        "with beta1 at 0.9",
        "a change after 100 epochs and here after 7",
        "that 0.0003 works better than 0.003",
        "parameterization at 0.0003 is",
        "after 1,500 updates",
    ),
    "which_norm_small": ("deviation 1,", "Batches of 8", "8 images of 64 positions", "with 2 images"),
}
