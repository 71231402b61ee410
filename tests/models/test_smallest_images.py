"""Networks that halve their maps twice take images of any size from 4 x 4 pixels on, and refuse smaller ones."""

import pytest
from drawn_images import images

from normexp.models.nin import NIN
from normexp.models.resnet_small import ResNetSmall
from normexp.norms.batch import BatchNorm

NETWORKS = pytest.mark.parametrize("network", [NIN, ResNetSmall])


@NETWORKS
@pytest.mark.parametrize("side", [4, 5, 8, 28, 32])
def test_images_of_any_size_from_4_pixels_on_are_taken(network, side):
    shape = (1, side, side)
    assert network(shape, 10, BatchNorm(), width=1 / 16)(images(shape=shape)).shape == (6, 10)


@NETWORKS
def test_smaller_images_are_refused(network):
    with pytest.raises(ValueError, match="at least 4 x 4"):
        network((1, 3, 3), 10, BatchNorm())
