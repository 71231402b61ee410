"""Rules of transformers: which schemes, placements and sizes make sense together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normexp.config.hints import no_option
from normexp.config.options import option, options
from normexp.errors import Impossible, did_you_mean, nearest

USUAL = "pre"
WITHOUT_SCHEME = {
    "ngpt": "it sets stream and weights itself",
    "fixup": "it normalizes nothing, and its last layers begin as zeros, which have no direction",
}


def check_transformer(
    values: Mapping[str, Any], choices: Mapping[str, str], about: Mapping[str, Mapping[str, Any]]
) -> None:
    """Raise Impossible for the first combination that cannot work, with the reason and a way out."""
    if about["model"].get("_own_"):
        return
    if not about["model"].get("_placed_"):
        if choices["placement"] != USUAL:
            networks = " or ".join(
                f"model={name}" for name in options("model") if option("model", name).get("_placed_")
            )
            raise Impossible(
                f"placement={choices['placement']}: model={choices['model']} has no residual stream to place "
                f"a scheme on; use {networks}"
            )
        return
    causal = bool(about["model"].get("_causal_"))
    _scheme_fits("norm", choices["norm"], about["norm"], causal, choices["model"])
    _placement_takes_scheme(values["norm"], choices, about)
    _qk_norm_fits(values["model"]["qk_norm"], causal, choices)
    _heads_divide_width(values["model"])


def _scheme_fits(key: str, name: str, scheme: Mapping[str, Any], causal: bool, model: str) -> None:
    """Refuse a scheme that has no form on tokens, or that lets positions see later ones.

    Args:
        key: for which it was chosen, `norm` or `model.qk_norm`.
    """
    if scheme.get("_own_"):
        return  # the user's own, whose hooks are its business
    if not scheme.get("_tokens_"):
        raise Impossible(f"{key}={name} has no form on the tokens of model={model}; {_fitting(key, causal)}")
    if not _on_tokens(scheme, causal):
        raise Impossible(
            f"{key}={name} with model={model}: its statistics run over all positions, so that every position would see "
            f"those it has to predict; {_fitting(key, causal)}"
        )


def _fitting(key: str, causal: bool) -> str:
    """Return the end of an error that says what a key for a scheme takes: `use one of model.qk_norm=none, ...`."""
    schemes = {name: option("norm", name) for name in options("norm")}
    fits = [name for name, scheme in schemes.items() if _on_tokens(scheme, causal)]
    if key != "norm":
        fits = [name for name in fits if name == "none" or _is_for_activations(schemes[name])]
    return f"use one of {key}={', '.join(fits)}"


def _on_tokens(scheme: Mapping[str, Any], causal: bool) -> bool:
    return bool(scheme.get("_tokens_")) and not (causal and scheme.get("_batch_statistics_"))


def _is_for_activations(scheme: Mapping[str, Any]) -> bool:
    """Tell whether all of a scheme, as its option has it, acts on activations; a stack has a part for weights."""
    return "placement" in scheme and "weights" not in scheme


def _placement_takes_scheme(
    norm: Mapping[str, Any], choices: Mapping[str, str], about: Mapping[str, Mapping[str, Any]]
) -> None:
    placement = choices["placement"]
    if about["placement"].get("_normalizes_") or about["norm"].get("_own_"):
        return
    if placement in WITHOUT_SCHEME and choices["norm"] != "none":
        why = WITHOUT_SCHEME[placement]
        raise Impossible(f"placement={placement} with norm={choices['norm']}: {why}; use norm=none")
    if "placement" in norm:  # it has something to place: a scheme on weights alone has not
        raise Impossible(
            f"placement={placement} with norm={choices['norm']}: it has no place for a scheme on activations; "
            "use norm=none or a scheme on weights, or another placement"
        )


def _qk_norm_fits(name: str | None, causal: bool, choices: Mapping[str, str]) -> None:
    if name is None:
        return
    if name not in options("norm"):
        raise no_option("model.qk_norm", name, options("norm"), did_you_mean(nearest(name, options("norm"))))
    scheme = option("norm", name)
    _scheme_fits("model.qk_norm", name, scheme, causal, choices["model"])
    if name != "none" and not _is_for_activations(scheme):
        raise Impossible(
            f"model.qk_norm={name}: acts on weights, or on nothing, and queries and keys are activations; "
            f"{_fitting('model.qk_norm', causal)}"
        )
    if choices["placement"] in ("reordered", "hybrid", "ngpt"):
        raise Impossible(
            f"model.qk_norm={name} with placement={choices['placement']}, which normalizes queries and keys "
            "itself; leave one out"
        )


def _heads_divide_width(model: Mapping[str, Any]) -> None:
    width, heads = model["width"], model["heads"]
    if width % heads:
        fitting = [count for count in range(1, width + 1) if width % count == 0]
        close = min(fitting, key=lambda count: (abs(count - heads), count))
        raise Impossible(f"model.width={width}: is not divisible by model.heads={heads}; the nearest is {close}")
    if model.get("positions") == "rotary" and (width // heads) % 2:
        raise Impossible(
            f"model.positions=rotary with model.width={width} model.heads={heads}: it turns pairs, and a head has "
            f"{width // heads} features; use another number of heads"
        )
