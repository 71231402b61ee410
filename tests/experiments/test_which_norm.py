"""The table of all schemes has all schemes."""

from __future__ import annotations

import pytest

from normexp.config.options import options
from normexp.experiments.load import load, scales

LEFT_OUT = {
    "stack": "it needs two schemes to stack; the arm `weight_standard + group` does",
    **dict.fromkeys(
        ("derf", "dyisru", "rep_batch", "scale_norm", "ssnorm"), "made for transformers, whose table is another"
    ),
    "recurrent_batch": "outside a recurrent network it is batch normalization",
}


@pytest.mark.parametrize("scale", scales("which_norm_small"))
def test_which_norm_has_every_scheme(scale: str) -> None:
    arms = load("which_norm_small", scale).arms
    shown = {name for name, arm in arms.items() if arm["norm"] == name}
    missing = set(options("norm")) - set(LEFT_OUT) - shown
    assert not missing, f"configs/experiment/which_norm_small.yaml has no arm {', '.join(sorted(missing))}; add it"
    assert {arm["norm"] for arm in arms.values()} - shown == {"stack"}


def test_which_norm_leaves_out_only_what_there_is() -> None:
    assert set(LEFT_OUT) <= set(options("norm"))
