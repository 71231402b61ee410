"""Networks of torchvision as models of a run: trained weights, and what does not fit is said in one line."""

import hashlib
import io
from pathlib import Path

import pytest
import torch
from torch import nn

from normexp.errors import UserError
from normexp.models.torchvision import torchvision_model
from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm


def test_images_that_a_transformer_cannot_cut_are_one_line():
    with pytest.raises(UserError, match=r"^model\.name=vit_b_16 takes no images of 28 x 28 pixels: .*patch size"):
        torchvision_model((1, 28, 28), 10, BatchNorm(), "vit_b_16")


@pytest.mark.slow
def test_a_transformer_is_refused_for_its_normalization():
    why = r"^VisionTransformer cannot be converted to BatchNorm: .*LayerNorm"
    with torch.device("meta"), pytest.raises(ValueError, match=why):
        torchvision_model((3, 32, 32), 10, BatchNorm(), "vit_b_16")


WEIGHTS = "IMAGENET1K_V1"
TRAINED = "squeezenet1_1"  # small, and of an output layer that is a convolution
NORMALIZED = "shufflenet_v2_x0_5"


@pytest.fixture
def at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Lay a network's weights where torchvision would leave them, under the name that has their sha256."""
    from torchvision import models

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))

    def lay(name: str) -> tuple[nn.Module, Path]:
        torch.manual_seed(7)
        network = models.get_model(name, weights=None)
        buffer = io.BytesIO()
        torch.save(network.state_dict(), buffer)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()[:8]
        path = tmp_path / "hub" / "checkpoints" / f"{name}-{digest}.pth"
        path.parent.mkdir(parents=True)
        path.write_bytes(buffer.getvalue())
        monkeypatch.setattr(models.get_model_weights(name)[WEIGHTS].value, "url", f"file:///{path.name}")
        return network, path

    return lay


@pytest.mark.slow
@pytest.mark.parametrize(("name", "norm", "head"), [(TRAINED, Norm(), "classifier.1"), (NORMALIZED, BatchNorm(), "fc")])
def test_trained_weights_are_loaded_but_for_the_output_layer(at_hand, name, norm, head):
    trained = at_hand(name)[0].state_dict()
    state = torchvision_model((3, 64, 64), 10, norm, name, weights=WEIGHTS).state_dict()
    assert {key for key in trained if not torch.equal(trained[key], state[key])} == {f"{head}.weight", f"{head}.bias"}


@pytest.mark.slow
def test_trained_weights_of_as_many_classes_are_all_loaded_and_the_stem_stays(at_hand):
    trained, _ = at_hand(NORMALIZED)
    model = torchvision_model((3, 32, 32), 1000, BatchNorm(), NORMALIZED, weights=WEIGHTS)
    x = torch.randn(2, 3, 32, 32)
    assert torch.equal(model.eval()(x), trained.eval()(x))


def test_trained_weights_that_are_damaged_are_refused(at_hand):
    _, path = at_hand(TRAINED)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=r"model\.weights=IMAGENET1K_V1: .* is damaged, its sha256"):
        torchvision_model((3, 64, 64), 10, BatchNorm(), TRAINED, weights=WEIGHTS)


def test_trained_weights_are_refused_for_images_of_other_channels(at_hand):
    at_hand(TRAINED)
    with pytest.raises(UserError, match=r"features\.0\.weight of model\.name=squeezenet1_1 has another shape"):
        torchvision_model((1, 64, 64), 10, BatchNorm(), TRAINED, weights=WEIGHTS)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("IMAGENET1K_V9", r"allowed: IMAGENET1K_V1; did you mean IMAGENET1K_V1\?$"),
        ("DEFAULT", r"model\.weights=DEFAULT does not exist for model\.name=squeezenet1_1; allowed: IMAGENET1K_V1"),
        (WEIGHTS, r"squeezenet1_1-b8a52dc0\.pth is not there"),
    ],
)
def test_weights_that_are_not_there_are_one_line(tmp_path, monkeypatch, weights, said):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(UserError, match=said):
        torchvision_model((3, 64, 64), 10, BatchNorm(), TRAINED, weights=weights)


def test_an_initialization_over_trained_weights_is_refused(at_hand):
    from normexp.config import compose
    from normexp.training.build import build_model, build_norm

    at_hand(TRAINED)
    config = compose(["model=torchvision", f"model.name={TRAINED}", f"model.weights={WEIGHTS}", "init=he"])
    with pytest.raises(UserError, match=r"^init=he would overwrite the trained weights of model\.weights"):
        build_model(config, build_norm(config), (3, 64, 64), 10)
