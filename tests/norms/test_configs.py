"""configs/norm/*.yaml mirrors the dataclasses: names, default values, descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import pytest
from conftest import CONFIGS, instantiate
from torch import nn


def options(config):
    return {key: value for key, value in config.items() if not key.startswith("_")}


def test_every_field_has_a_key_and_every_key_a_field(scheme, norm):
    names = {field.name for field in fields(norm)}
    if isinstance(norm.normalization(64), nn.Identity) and scheme != "stack":  # whose parts are anybody's
        names -= {"placement"}  # nothing to place
    assert options(CONFIGS[scheme]).keys() == names


def test_the_values_are_the_defaults(scheme, norm):
    flat = {key: value for key, value in options(CONFIGS[scheme]).items() if not isinstance(value, Mapping)}
    default = type(norm)()
    assert flat == {key: getattr(default, key) for key in flat}


def test_the_parts_values_are_the_defaults(scheme, norm):
    for key, value in options(CONFIGS[scheme]).items():
        if isinstance(value, Mapping):
            assert getattr(norm, key) == instantiate({"_target_": value["_target_"]})


@pytest.mark.parametrize("key", ["_about_", "_source_", "_batch_statistics_"])
def test_describes_itself(scheme, key):
    assert key in CONFIGS[scheme]


def test_ranges_are_given_for_existing_keys(scheme):
    for key in CONFIGS[scheme].get("_allowed_", {}):
        node = CONFIGS[scheme]
        for part in key.split("."):
            assert part in node
            node = node[part]


def test_is_frozen_and_takes_keywords_only(norm):
    with pytest.raises(AttributeError):
        norm.placement = "post"
    with pytest.raises(TypeError):
        type(norm)("pre")
