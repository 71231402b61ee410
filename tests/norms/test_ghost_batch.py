"""Ghost batch normalization: chunks, the last one, and the running estimates."""

import pytest
import torch

from normexp.norms.batch import BatchNorm
from normexp.norms.ghost_batch import GhostBatchNorm, chunk_sizes


@pytest.mark.parametrize(
    ("sizes", "alone", "expected"),
    [
        ((8, 4), False, [4, 4]),
        ((10, 4), False, [4, 4, 2]),
        ((9, 4), False, [4, 5]),
        ((9, 4), True, [4, 4, 1]),
        ((5, 4), False, [5]),
        ((3, 1), True, [1, 1, 1]),
    ],
)
def test_chunks(sizes, alone, expected):
    assert chunk_sizes(*sizes, alone=alone) == expected


@pytest.mark.parametrize("shape", [(9, 3), (9, 3, 5), (10, 3, 2, 2)])
def test_is_batch_normalization_of_one_chunk_after_the_other(shape):
    ghost, batch = GhostBatchNorm(chunk_size=4).normalization(3), BatchNorm().normalization(3)
    x = torch.randn(shape)
    sizes = chunk_sizes(len(x), 4, alone=len(shape) > 2)
    expected = torch.cat([batch(chunk) for chunk in x.split(sizes)])
    torch.testing.assert_close(ghost(x), expected)
    for key, value in batch.state_dict().items():
        torch.testing.assert_close(ghost.state_dict()[key], value)


def test_each_chunk_has_mean_0_and_variance_1_and_does_not_see_the_others():
    module = GhostBatchNorm(chunk_size=4).normalization(3).double()
    x = torch.randn(8, 3, dtype=torch.double) * torch.arange(1, 9).view(8, 1)
    y = module(x)
    for chunk in y.split(4):
        torch.testing.assert_close(chunk.mean(0), torch.zeros(3, dtype=torch.double), rtol=0, atol=1e-12)
        torch.testing.assert_close(chunk.var(0, correction=0), torch.ones(3, dtype=torch.double), rtol=1e-3, atol=0)
    other = torch.cat([x[:4], torch.randn(4, 3, dtype=torch.double)])
    assert torch.equal(module(other)[:4], y[:4])


@pytest.mark.parametrize("chunk_size", [8, 100])
def test_one_chunk_is_batch_normalization(chunk_size):
    x = torch.randn(8, 3, 4)
    assert torch.equal(GhostBatchNorm(chunk_size=chunk_size).normalization(3)(x), BatchNorm().normalization(3)(x))


def test_evaluation_has_no_chunks():
    module = GhostBatchNorm(chunk_size=2).normalization(3).eval()
    x = torch.randn(5, 3)
    torch.testing.assert_close(module(x), BatchNorm().normalization(3).eval()(x))


def test_chunks_of_one_vector_are_refused():
    with pytest.raises(ValueError, match="more than one value"):
        GhostBatchNorm(chunk_size=1).normalization(3)(torch.randn(4, 3))
    with pytest.raises(ValueError, match="chunk_size must be at least 1, not 0"):
        GhostBatchNorm(chunk_size=0)
