"""Experiments are found by what somebody types of their paper."""

import pytest

from normexp.experiments.by_paper import by_paper, looked_for, proposed, says
from normexp.experiments.load import laws, names


@pytest.mark.parametrize(
    "typed",
    ["1607.06450", "arXiv:1607.06450", "https://arxiv.org/abs/1607.06450v1", "Ba, Kiros & Hinton", "ba et al. 2016"],
)
def test_a_paper_is_found_by_number_address_and_authors(typed: str) -> None:
    assert {"ba2016_figure2", "ba2016_figure6", "ln_invariances"} <= set(by_paper(typed, names()))
    assert "ioffe2015_table" not in by_paper(typed, names())


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
