"""A network trained without records is the one that a recorded run ends with."""

from pathlib import Path

import pytest
from torch import nn

from normexp.config import compose
from normexp.records import METRICS, read_rows
from normexp.runs.run import run
from normexp.studies.base import StudyContext
from normexp.studies.trained import score, trained

OVERRIDES = ["dataset=house_prices", "model=mlp", "model.widths=[8]", "norm=batch", "steps=30", "threads=1"]


def test_same_score_as_the_recorded_run(results: Path):
    config = compose([*OVERRIDES, f"results_dir={results}"])
    components = trained(StudyContext(config))
    run(config)
    (metrics,) = results.glob(f"runs/*/{METRICS}")
    assert score(components, components.evaluated["test"]) == float(read_rows(metrics)[-1]["test/rmse"])


def test_a_network_begins_as_its_run_does_where_the_start_comes_of_data():
    config = compose(
        ["study=incoherence", "dataset=digits", "model=mlp", "model.widths=[20,20]", "norm=none", "init=lsuv"]
    )
    components = StudyContext(config).components
    first = next(module for module in components.model.modules() if isinstance(module, nn.Linear))
    outputs = first(components.batches.first(components.batches.batch_size)[0].flatten(1))
    assert outputs.var().item() == pytest.approx(1, abs=0.05)  # of orthonormal rows it is another
