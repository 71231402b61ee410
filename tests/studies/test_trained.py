"""A network trained without records is the one that a recorded run ends with."""

from pathlib import Path

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
