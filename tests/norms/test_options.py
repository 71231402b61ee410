"""Options that several schemes share do what they say."""

from __future__ import annotations

import pytest
import torch
from conftest import CHANNELS, CONFIGS, instantiate

AFFINE = [name for name, config in CONFIGS.items() if "affine" in config]


@pytest.mark.parametrize("name", AFFINE)
def test_affine_learns_a_weight_from_1_and_a_bias_from_0_or_nothing(name):
    learned = dict(instantiate(CONFIGS[name], affine=True).normalization(CHANNELS).named_parameters())
    without = dict(instantiate(CONFIGS[name], affine=False).normalization(CHANNELS).named_parameters())
    assert learned.keys() - without.keys() in ({"weight", "bias"}, {"weight"}, {"bias"})
    for key, start in (("weight", 1.0), ("bias", 0.0)):
        assert key not in without
        if key in learned:
            torch.testing.assert_close(learned[key].detach(), torch.full((CHANNELS,), start))


GROUPED = [name for name, config in CONFIGS.items() if "num_groups" in config]


@pytest.mark.parametrize("name", GROUPED)
def test_as_many_groups_as_channels_are_refused_where_a_group_is_one_value(name):
    module = instantiate(CONFIGS[name], num_groups=CHANNELS).normalization(CHANNELS)
    assert module(torch.randn(2, CHANNELS, 2)).isfinite().all()
    for shape in ((2, CHANNELS), (2, CHANNELS, 1, 1)):
        with pytest.raises(ValueError, match="more than one value per group"):
            module(torch.randn(shape))
