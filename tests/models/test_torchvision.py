"""Networks of torchvision as models of a run: what does not fit is said in one line."""

from __future__ import annotations

import pytest
import torch

from normexp.errors import UserError
from normexp.models.torchvision import torchvision_model
from normexp.norms.batch import BatchNorm


def test_images_that_a_transformer_cannot_cut_are_one_line():
    with pytest.raises(UserError, match=r"^model\.name=vit_b_16 takes no images of 28 x 28 pixels: .*patch size"):
        torchvision_model((1, 28, 28), 10, BatchNorm(), "vit_b_16")


def test_a_transformer_is_refused_for_its_normalization():
    why = r"^VisionTransformer cannot be converted to BatchNorm: .*LayerNorm"
    with torch.device("meta"), pytest.raises(ValueError, match=why):
        torchvision_model((3, 32, 32), 10, BatchNorm(), "vit_b_16")
