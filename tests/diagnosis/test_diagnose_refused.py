"""What cannot be diagnosed is one line."""

import math

import pytest
import torch
from networks_to_diagnose import small
from one_line import one_line_error
from torch import nn

from normexp.diagnosis.batches import batches
from normexp.diagnosis.diagnose import diagnose
from normexp.errors import UserError


@pytest.mark.parametrize(
    ("model", "why"), [("resnet18", "str is no network"), (nn.BatchNorm2d(3).to("meta"), "on the meta")]
)
def test_what_is_no_network_is_one_line(model, why):
    with pytest.raises(UserError, match=f"^model: {why}"):
        diagnose(model, torch.randn(4, 3, 8, 8))


INFINITE = torch.full((4, 3, 8, 8), math.inf)
META = torch.zeros(4, 3, 8, 8, device="meta")


@pytest.mark.parametrize(
    "data",
    [3, "images", {}, [], [1], ([],), torch.tensor(3.0), [torch.tensor(3.0)], torch.zeros(0, 3, 8, 8), INFINITE, META],
    ids=lambda data: f"{data.device} {data.shape}" if isinstance(data, torch.Tensor) else str(data),
)
def test_data_that_are_none_are_one_line(data):
    with pytest.raises(UserError, match="data: "):
        diagnose(small(), data)


def test_a_list_of_batches_is_told_from_inputs_and_labels():
    x, y = torch.randn(4, 3, 2, 2), torch.tensor([0, 1, 2, 0])
    for data in (x, (x, y), [x, y], [(x, y)], [[x, y]], iter([x]), [[x, x.clone()]]):
        assert [len(each) for each in batches(data)] == [4]
    assert [len(each) for each in batches([x, x[:2]])] == [4, 2]
    assert [len(each) for each in batches(torch.utils.data.DataLoader(list(zip(x, y, strict=True)), 3))] == [3, 1]


def test_a_loader_of_inputs_and_targets_of_their_shape_gives_the_inputs():
    x = torch.randn(6, 3, 2, 2)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 0 * x), 3)
    assert torch.equal(torch.cat(batches(loader)), x)


def test_a_batch_that_the_network_does_not_take_is_one_line():
    with one_line_error(r"cannot be called with a batch of shape \(4, 5\)"):
        diagnose(small(), torch.randn(4, 5))


class NeedsTargets(nn.Sequential):
    """As torchvision's detectors, which return losses in train()."""

    def forward(self, x):
        assert not self.training, "targets should not be none when in training mode"
        return super().forward(x)


class Picky(nn.Module):
    def forward(self, x):
        raise KeyError("pixel_values")


class Awaited(nn.Linear):
    async def forward(self, x):
        return super().forward(x)


async def hook(module, args, output):
    return output


def test_what_nobody_awaits_is_refused_before_it_is_called():
    with one_line_error(r"^model: 1, its forward\(\) is an `async def`, which is called and never awaited; make it a"):
        diagnose(nn.Sequential(nn.Linear(5, 5), Awaited(5, 5)), torch.randn(4, 5))
    hooked = nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5))
    hooked[0].register_forward_hook(hook)
    with one_line_error("^model: 0 has a hook that is an `async def`"):
        diagnose(hooked, torch.randn(4, 5))


def test_a_network_that_cannot_be_called_in_train_is_a_fault_of_its_own_kind():
    found = diagnose(NeedsTargets(*small()), torch.randn(32, 3, 8, 8))
    (stopped,) = [each for each in found.faults if each.kind == "train()"]
    assert stopped.layer == ""
    told, _, where = stopped.text.rpartition(", test_diagnose_refused.py:")
    assert told == "stops with AssertionError: targets should not be none when in training mode"
    assert where.endswith(", in NeedsTargets.forward")
    assert set(found.layers) == {"1", "5"}


def test_whatever_a_network_raises_is_one_line():
    with one_line_error(r"with a batch of shape \(4, 5\): KeyError: 'pixel_values', test_.*py:\d+, in Picky.forward$"):
        diagnose(Picky(), torch.randn(4, 5))
