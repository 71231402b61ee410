"""Rules that join several keys: which choices make sense together, said before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normexp.errors import Impossible

Values = Mapping[str, Any]
About = Mapping[str, Mapping[str, Any]]  # group -> the description keys of its chosen option


def check_rules(values: Values, choices: Mapping[str, str], about: About) -> None:
    """Raise Impossible for the first combination that cannot work, with the reason and a way out."""
    _model_fits_data(choices, about)
    _augmentation_fits_data(values, choices, about)
    _batch_is_large_enough(values, choices, about)
    _norm_fits_model(choices, about)


def _model_fits_data(choices: Mapping[str, str], about: About) -> None:
    kind = about["dataset"].get("_kind_", "image")
    if about["model"].get("_accepts_", "any") not in ("any", kind):
        raise Impossible(
            f"model={choices['model']} needs images, but dataset={choices['dataset']} is a {kind}; "
            "use model=linear or model=mlp"
        )


def _augmentation_fits_data(values: Values, choices: Mapping[str, str], about: About) -> None:
    augmented = values["dataset"].get("crop") or values["dataset"].get("flip")
    if augmented and about["dataset"].get("_kind_") != "image":
        raise Impossible(
            f"dataset.crop and dataset.flip need images, but dataset={choices['dataset']} is a table; leave them out"
        )


def _batch_is_large_enough(values: Values, choices: Mapping[str, str], about: About) -> None:
    norm = about["norm"]
    if values["batch_size"] == 1 and norm.get("_batch_statistics_", False) and not norm.get("_works_with_one_"):
        raise Impossible(
            f"batch_size=1 with norm={choices['norm']}: its statistics are taken over the batch, and one "
            "example has no variance; use batch_size=2 or more, or norm=layer, group or weight"
        )


def _norm_fits_model(choices: Mapping[str, str], about: About) -> None:
    if about["norm"].get("_needs_") == "maps" and about["model"].get("_gives_") != "maps":
        raise Impossible(
            f"norm={choices['norm']} needs feature maps, but model={choices['model']} has one value per "
            "feature and example; use norm=batch or norm=layer, or a convolutional model"
        )
