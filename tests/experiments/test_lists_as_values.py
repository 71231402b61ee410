"""An axis whose values are lists, as model.widths takes: trained, chosen per value, judged, drawn, tabulated."""

import json

import pytest

from normexp.cli.verbs import main

EXPERIMENT = """
paper: a test
item: a test
title: Widths
about: Two networks.
common: {dataset: digits, model: mlp, optim: adam, steps: 2, batch_size: 32, threads: 1}
arms: {none: {norm: none}, batch: {norm: batch}}
grid: {model.widths: [[4], [4, 4]], seed: [0, 1]}
select:
  search: {optim.betas: [[0.9, 0.999], [0.5, 0.9]]}
  per: [model.widths]
  seeds: [100]
  metric: validation/accuracy
  common: {steps: 1}
scales: {cpu: {underpowered: a test}}
table: {metric: test/accuracy, at: last, baseline: none}
figures:
  - {name: bars, kind: bars, metric: test/accuracy, axis: model.widths}
  - {name: curve, kind: curves, metric: test/accuracy, where: {model.widths: WHERE}}
claims:
  - {text: one, source: a test, compare: difference, metric: test/accuracy, of: {arm: batch, model.widths: [4]},
     than: {arm: none, model.widths: [4, 4]}, in: "> 0"}
  - {text: other, source: a test, compare: difference, metric: test/accuracy, of: batch, than: none,
     where: {model.widths: WHERE}, in: "> 0"}
"""


@pytest.mark.slow
@pytest.mark.parametrize("spelled", ["[4, 4]", '"[4,4]"'])
def test_values_of_an_axis_may_be_lists(spelled, tmp_path, capsys, workers_here):
    file = tmp_path / "widths.yaml"
    file.write_text(EXPERIMENT.replace("WHERE", spelled), encoding="utf-8")
    assert main(["reproduce", str(file), "jobs=1", f"results_dir={tmp_path}"]) == 0
    table = capsys.readouterr().out
    assert "| batch model.widths=[4,4] |" in table
    judged = json.loads((tmp_path / "widths" / "cpu" / "claims.json").read_text(encoding="utf-8"))
    assert [claim["text"] for claim in judged["claims"]] == ["one", "other"]
    assert "at model.widths=[4] minus none at model.widths=[4,4]" in json.dumps(judged)


def test_a_list_that_no_axis_has_is_named(tmp_path, capsys):
    file = tmp_path / "widths.yaml"
    file.write_text(EXPERIMENT.replace("WHERE", "[4, 8]"), encoding="utf-8")
    assert main(["reproduce", str(file), "jobs=1", f"results_dir={tmp_path}"]) == 2
    assert "'[4,8]' does not exist; allowed: [4], [4,4]" in capsys.readouterr().err
