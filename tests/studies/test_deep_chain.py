"""0.9^k, 1.1^k and what a norm makes of them."""

import pytest
from measured import measured
from one_line import one_line_error

from normexp.evidence.audit import CORRECT, judged


def chain(*overrides):
    return measured("study=deep_chain", *overrides)


@pytest.mark.parametrize(("gain", "fiftieth"), [(0.9, 0.00515), (1.1, 117.4)])
def test_orthogonal_layers_multiply_by_exactly_the_gain(gain, fiftieth):
    rows = chain(f"study.gain={gain}").rows
    assert rows[50]["gradient"] == pytest.approx(fiftieth, rel=1e-3)
    assert [row["step"] for row in rows] == list(range(101))
    for row in rows:
        assert row["signal"] == pytest.approx(gain ** row["step"], rel=1e-9)
        assert row["gradient"] == pytest.approx(gain ** row["step"], rel=1e-9)


def test_gaussian_layers_do_so_on_average():
    last = [chain("study.weights=gaussian", "study.depth=10", f"seed={seed}").rows[-1] for seed in range(30)]
    assert sum(row["signal"] ** 2 for row in last) / 30 == pytest.approx(0.81**10, rel=0.2)
    assert last[0]["signal"] != pytest.approx(0.9**10, rel=1e-3)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_a_norm_makes_the_gain_irrelevant(norm):
    low, high = (chain(f"norm={norm}", "norm.eps=1e-12", f"study.gain={gain}").rows for gain in (0.9, 1.1))
    for first, second in zip(low, high, strict=True):
        assert first["gradient"] == pytest.approx(second["gradient"], rel=1e-6)
        assert 0.5 < first["gradient"] < 2


@pytest.mark.parametrize("gain", ["1e10", "1e-10"])
def test_a_gain_whose_power_is_no_number_is_refused(gain):
    """The study had ended in Python's own error."""
    with one_line_error(r"study.gain=.*: to the power of study.depth=100 it must be between 1e-150 and 1e150; give "):
        chain(f"study.gain={gain}", "study.width=2")


def test_printed_powers_are_audited_without_norm_only():
    (number,) = chain("study.depth=20").numbers
    assert number.computed == "0.9^20 = 0.1216; measured 0.1216"
    assert judged(number.printed, str(number.computed), str(number.agrees)) == CORRECT
    assert not chain("study.depth=20", "norm=batch").numbers
