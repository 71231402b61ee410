"""Columns that eps would shrink are told of; those that it does not touch, and constant ones, are not."""

from pathlib import Path

from normexp.config import compose
from normexp.data.loading import load
from normexp.training.build import build
from normexp.training.checks.small_inputs import small_inputs


def told_of(words: list[str]) -> str:
    config = compose(words)
    data = load(config)
    return small_inputs(config, build(config, data), data)


def test_columns_below_eps_are_told(tmp_path: Path) -> None:
    rows = "".join(f"{n}e-9,{n},3e-9,{n}\n" for n in range(40))
    (tmp_path / "small.csv").write_text(f"metres,kilograms,same,y\n{rows}")
    words = ["dataset=csv", f"dataset.file={tmp_path / 'small.csv'}", "dataset.target=y", "model=linear"]
    told = told_of(words)
    assert told.startswith("inputs.eps=1e-08: shrinks 1 of 3 inputs (a deviation of 1.")
    assert told.endswith("e-01); inputs.eps=0 scales all of them to 1")
    assert told_of([*words, "inputs.eps=0"]) == ""
