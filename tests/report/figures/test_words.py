"""What figures call schemes and keys: words that a reader knows, never the keys that are typed."""

import pytest

from normexp.config import option, options
from normexp.report.figures.words import in_words, of_arm, renamed


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("none", "No norm"),
        ("layer, adamw", "Layer norm, AdamW"),
        ("weight_standard + group", "Weight standardization + group norm"),
        ("weight_standard + rms", "Weight standardization + RMSNorm"),
        ("dynamic_tanh, He's start", "Dynamic tanh, He's start"),
        ("batch, optim.lr=0.1, batch_size=8", "Batch norm, learning rate 0.1, batch size 8"),
        ("group, norm.num_groups=4", "Group norm, groups 4"),
        ("batch, norm.momentum=0.2, optim.momentum=0", "Batch norm, momentum of the estimates 0.2, momentum 0"),
        ("none, init=he", "No norm, He initialization"),
        ("placement=deepnorm, placement=pre", "DeepNorm, placement pre"),
        ("model.widths=[100, 100]", "widths [100, 100]"),
        ('none, dataset.features=[a_b, "c, d_e"], init=he', 'No norm, features [a_b, "c, d_e"], He initialization'),
        ('batch, dataset.target="height, cm_2"', 'Batch norm, target "height, cm_2"'),
        ("gain [a, b_c", "gain [a, b c"),
        ("batch, model.name=resnet18", "Batch norm, network resnet18"),
        ("gpt, dataset.name=topics", "gpt, text topics"),
        ("batch, evals_per_epoch=3, eval_every=10", "Batch norm, evaluations per epoch 3, evaluated every 10"),
        ("my_norms.Scale", "my_norms.Scale"),
        ("With batch normalization", "With batch normalization"),
        ("RMS norm", "RMSNorm"),
        ("BatchNorm, Muon", "Batch norm, Muon"),
        ("No normalization, gain 1.1", "No norm, gain 1.1"),
        ("Batch renormalization", "Batch renorm"),
        ("CNN, batch norm", "CNN, batch norm"),
        ("gamma = 1/1.21", "gamma = 1/1.21"),
    ],
)
def test_an_arm_in_words(typed: str, words: str) -> None:
    assert of_arm(typed) == words


def test_a_scheme_that_nobody_knows_again_is_named_twice() -> None:
    """Tables keep what commands need: `rep_batch` stood there, RepBN in the picture beside it."""
    names = ["none, SkipInit", "layer", "rms", "dynamic_tanh", "rep_batch", "weight_standard + group", "With BN"]
    assert renamed(names) == {"rep_batch": "RepBN", "weight_standard": "Weight standardization"}


def test_a_point_of_the_grid_in_words() -> None:
    assert of_arm(in_words("batch at batch_size=128")) == "Batch norm, batch size 128"


def test_every_scheme_has_a_name_of_its_own() -> None:
    names = [option("norm", scheme)["_called_"] for scheme in options("norm")]
    assert len(set(names)) == len(names)
    assert not [name for name in names if "_" in name]
