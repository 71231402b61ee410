"""The table of all schemes has all schemes; the page of answers rests each on networks of its kind."""

import re
from pathlib import Path

import pytest

from normexp.config.options import options
from normexp.experiments.load import load, scales

TOP = Path(__file__).parents[2]
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


NETWORKS = {
    "Convolutions, with shortcuts": {"resnet_small"},
    "Convolutions, without shortcuts": {"cnn"},
    "Small batches": {"mlp", "cnn", "resnet_small"},
    "Decoders of text": {"gpt"},
    "Vision transformer": {"vit"},
    "Fully connected": {"mlp"},
    "Recurrent networks": {"lstm_classifier", "attentive_reader"},
    "A table of numbers": {"linear", "mlp"},
}


@pytest.mark.slow
def test_an_answer_rests_on_networks_of_its_kind() -> None:
    page = (TOP / "docs" / "which_norm.md").read_text()
    sections = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)+)", page, re.M))
    for title, text in sections.items():
        quoted = dict(re.findall(r"^<!-- claim:(\w+)/(\w+) ", text, re.M))
        found = [load(name, scale) for name, scale in quoted.items()]
        models = {str(model) for each in found for model in each.grid.get("model", [each.common.get("model")])}
        assert quoted, title
        assert models <= NETWORKS[title], title
    assert sections.keys() == NETWORKS.keys()
