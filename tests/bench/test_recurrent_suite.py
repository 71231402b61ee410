"""The recurrent suite: rivals that do the same, and a table of them."""

import pytest
import torch

from normexp.bench.suites import recurrent


def test_rivals_give_the_answers_of_their_twins():
    networks, x = recurrent.build(recurrent.SMALL), torch.randn(recurrent.SMALL)
    assert recurrent.differences(networks, x) == ()
    with torch.no_grad():
        networks[recurrent.BY_HAND].norm_c.bias += 0.1
    (line,) = recurrent.differences(networks, x)
    assert recurrent.BY_HAND in line
    assert "at most 0.0001 is allowed" in line


def test_gradients_are_the_same_too():
    networks, x = recurrent.build(recurrent.SMALL), torch.randn(recurrent.SMALL)
    y = torch.randint(recurrent.CLASSES, (len(x),))
    for name in (recurrent.BY_HAND, "LSTM, layer", recurrent.TORCH, "LSTM, none"):
        recurrent.step(networks[name], x, y)()
    by_hand, ours = networks[recurrent.BY_HAND], networks["LSTM, layer"]
    torch.testing.assert_close(by_hand.from_h.weight.grad, ours.cell.state.weight.grad, rtol=1e-3, atol=1e-6)
    torchs, plain = networks[recurrent.TORCH], networks["LSTM, none"]
    torch.testing.assert_close(torchs.lstm.weight_hh_l0.grad, plain.cell.state.weight.grad, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
def test_table_has_every_scheme_beside_both_rivals():
    (table,) = recurrent.run(quick=True, rounds=1, overrides=[])
    names = [row[0] for row in table.cells]
    assert {f"LSTM, {norm}" for norm in recurrent.NORMS} <= set(names)
    assert [row[1][:4] for row in table.cells if row[0] == recurrent.TORCH] == ["1.00"]
    assert table.wrong == ()
    assert all(len(times) == 3 and min(times) > 0 for times in table.data["seconds"].values())
