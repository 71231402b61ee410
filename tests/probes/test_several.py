"""Several probes in one run, each under its own name."""

import pytest
import torch
from situations import ASK_MUCH, PROBES, facing

from normexp.config import compose, option
from normexp.errors import UserError
from normexp.probes.several import Several, make


def test_several_gives_every_probe_its_rows_under_its_own_name(network):
    situation = facing(network, torch.randn(40, 3))
    rows = Several(of=("weight_norm", "moments")).rows("several", situation)
    expected = [(name, *reading) for name in ("weight_norm", "moments") for reading in make(name).measure(situation)]
    assert rows == expected


def test_no_two_probes_share_a_statistic_of_a_layer(network):
    rows = Several(of=PROBES).rows("several", facing(network, torch.randn(40, 3)))
    assert len({(layer, statistic) for _, layer, statistic, _ in rows}) == len(rows)


def test_several_lists_every_probe():
    spec = option("probe", "several")["_allowed_"]["of"].removeprefix("list of ")
    assert sorted(spec.split(" | ")) == sorted([*PROBES, *ASK_MUCH])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("[weigth_norm]", r"probe.of=.*must be.*percentiles, moments.*did you mean weight_norm\?"),
        ("[several]", "must be"),
        ("[none]", "must be"),
    ],
)
def test_several_refuses_unknown_names_when_composing(given, complaint):
    with pytest.raises(UserError, match=complaint):
        compose(["probe=several", f"probe.of={given}"])


def test_several_takes_one_name_without_brackets():
    assert compose(["probe=several", "probe.of=weight_norm"])["probe"]["of"] == ["weight_norm"]


@pytest.mark.parametrize("given", ["[]", "[moments,moments]"])
def test_several_refuses_none_and_twice(cli, results, given):
    status, _, error = cli("run", "probe=several", f"probe.of={given}", f"results_dir={results}")
    assert status == 2
    assert error == f"normexp: probe.of={given}: name at least one probe, and each once\n"
    assert not results.exists()
