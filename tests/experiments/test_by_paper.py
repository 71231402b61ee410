"""Experiments are found by what somebody types of their paper."""

import re

import pytest

from normexp.config.options import config_dir, load_yaml
from normexp.experiments.by_paper import NUMBER, by_paper, looked_for, proposed, says
from normexp.experiments.load import laws, names


@pytest.mark.parametrize(
    "typed",
    ["1607.06450", "arXiv:1607.06450", "https://arxiv.org/abs/1607.06450v1", "Ba, Kiros & Hinton", "ba et al. 2016"],
)
def test_a_paper_is_found_by_number_address_and_authors(typed: str) -> None:
    assert {"ba2016_figure2", "ba2016_figure6", "ln_invariances"} <= set(by_paper(typed, names()))
    assert "ioffe2015_table" not in by_paper(typed, names())


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("Layer Normalization", "ba2016_figure2"),
        (
            "batch normalization: accelerating deep network training by\nreducing internal covariate shift",
            "ioffe2015_table",
        ),
        ('"How Does Batch Normalization Help Optimization?"', "law_gradient_projection"),
    ],
)
def test_a_paper_is_found_by_its_title(typed: str, found: str) -> None:
    assert any(name.startswith(found) for name in by_paper(typed, names()))


def test_a_title_is_that_paper_and_not_all_that_is_about_it() -> None:
    found = by_paper("Layer Normalization", names())
    assert "ba2016_figure6" in found
    assert "batch_or_layer" not in found


def test_a_claim_is_found_by_the_title_of_its_paper_though_it_has_none_of_its_words() -> None:
    assert says("[Ba, Kiros & Hinton 2016, arXiv:1607.06450] It trains faster", "Layer Normalization")
    assert not says("[Ioffe & Szegedy 2015, arXiv:1502.03167] It trains faster", "Layer Normalization")


def test_every_paper_with_a_number_has_a_title_and_no_other() -> None:
    heads = [
        re.findall(r"^paper: .*$", path.read_text(), re.MULTILINE) for path in config_dir().glob("experiment/*.yaml")
    ]
    assert {*load_yaml(config_dir() / "papers.yaml")} == {*NUMBER.findall(str(heads))}


def test_what_no_paper_has_finds_none() -> None:
    assert by_paper("", names()) == by_paper(",;", names()) == by_paper("nosuch", names()) == []
    assert proposed("nosuch", names()) is None


def test_few_are_proposed_and_the_most_alike_first() -> None:
    assert proposed("Ioffe", names()) == "ioffe2015_table, ioffe2015_rates, ioffe2015_figure1 or scale_invariance"
    assert proposed("weight decay", laws()) == "law_decay_rate"


def test_words_are_looked_for_without_case_and_marks() -> None:
    assert looked_for("Weight Normalization: a, b") == ["weight", "normalization", "a", "b"]
    assert looked_for("Salimans & Kingma") == ["salimans", "kingma"]
    assert looked_for("and") == ["and"]  # not nothing, which every text says
    assert says("[Ioffe & Szegedy 2015, arXiv:1502.03167]", "https://arxiv.org/pdf/1502.03167v3 Szegedy,")
