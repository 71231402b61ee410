"""The recurrent hook of schemes without statistics per time step is their activation module, at every step."""

import pytest
import torch
from every_scheme import CHANNELS, CONFIGS, accepts, instantiate, randomize

PLAIN = [name for name in CONFIGS if accepts(name, (1, CHANNELS)) and name != "recurrent_batch"]


@pytest.mark.parametrize("name", PLAIN)
def test_every_step_is_the_activation(name):
    norm = instantiate(CONFIGS[name])
    step, module = (randomize(make) for make in (norm.recurrent(CHANNELS, 3), norm.normalization(CHANNELS)))
    values = list(module.parameters())
    with torch.no_grad():
        for mine, its in zip(step.parameters(), values, strict=True):
            mine.copy_(its)
    for t in range(3):
        x = torch.randn(20, CHANNELS) + 1
        torch.testing.assert_close(step(x, t), module(x))
