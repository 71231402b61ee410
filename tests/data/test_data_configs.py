"""configs/dataset/*.yaml and the dataclasses say the same."""

from __future__ import annotations

import importlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs" / "dataset").glob("*.yaml"))


def loaded(path: Path) -> tuple[dict[str, Any], dict[str, Any], type]:
    """Return the options, the descriptions and the class of one file."""
    tree = yaml.safe_load(path.read_text())
    module, _, name = tree.pop("_target_").rpartition(".")
    about = {key: tree.pop(key) for key in list(tree) if key.startswith("_")}
    return tree, about, getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_has_the_fields_and_defaults_of_its_class(path: Path) -> None:
    options, about, kind = loaded(path)
    expected = {field.name: field.default for field in fields(kind)}
    if about["_task_"] != "regression":
        del expected["standardize_target"]  # a regression's
    assert options == expected


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_describes_itself(path: Path) -> None:
    options, about, kind = loaded(path)
    steps = {"_inputs_"} if about["_kind_"] in ("sequence", "text", "token") else set()
    assert (
        set(about) - {"_masked_by_", "_chance_", "_recipe_", "_in_order_"}
        == {"_about_", "_source_", "_kind_", "_task_", "_allowed_"} | steps
    )
    assert set(about.get("_masked_by_", [])) <= set(options)
    assert set(about["_allowed_"]) <= set(options)
    nullable = {key for key, value in options.items() if value is None}
    assert all(about["_allowed_"][key].endswith("or null") for key in nullable)
    assert kind.__doc__
