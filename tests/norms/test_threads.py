"""`convert` and `fold` read a network with torch.fx, which stands in for `nn.Module.__call__` in every thread."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from time import sleep

import torch
from torch import nn

from normexp.norms.convert import convert
from normexp.norms.fold import fold
from normexp.norms.group import GroupNorm


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8))


class Slow(nn.Module):
    """A network whose reading takes a while, so that another one begins meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = net()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sleep(0.002)
        return self.layers(x)


def test_networks_are_converted_side_by_side_and_torch_is_as_it_was():
    """A reading that ended after another had begun put back what the other had put in place, for good."""
    call, attribute = nn.Module.__call__, nn.Module.__getattr__
    models = [Slow() for _ in range(4)]
    generator = torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        converted = list(pool.map(lambda model: convert(model, GroupNorm(num_groups=4)), models))
    assert (nn.Module.__call__, nn.Module.__getattr__) == (call, attribute)
    assert torch.equal(torch.get_rng_state(), generator)
    assert not any(isinstance(part, nn.BatchNorm2d) for model in converted for part in model.modules())


def test_a_network_that_another_thread_calls_meanwhile_is_not_read():
    """It had ended in NameError: module is not installed as a submodule."""
    model, x, stop, errors = net(), torch.randn(2, 3, 8, 8), Event(), []

    def call() -> None:
        while not stop.is_set():
            try:
                model(x).sum().backward()
            except Exception as error:
                errors.append(error)

    other = Thread(target=call)
    other.start()
    try:
        for _ in range(5):
            convert(net(), GroupNorm(num_groups=4))
            fold(net())
    finally:
        stop.set()
        other.join()
    assert not errors
