"""Rules that join several keys: which choices make sense together, said before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normexp.config.extras import need_extra
from normexp.config.hints import no_such_network, torchvision_names
from normexp.config.options import option, options
from normexp.config.parts import part_options
from normexp.config.text import shown
from normexp.config.transformer_rules import check_transformer
from normexp.errors import Impossible, UserError

Values = Mapping[str, Any]
About = Mapping[str, Mapping[str, Any]]  # group -> the description keys of its chosen option

SEVERAL_LOSSES = "torch.optim.LBFGS: wants several losses for one update, a closure; a run computes one"
_RECURRENT = ("sequence", "text")  # what recurrent networks read, and no others


def check_rules(values: Values, choices: Mapping[str, str], about: About) -> None:
    """Raise Impossible for the first combination that cannot work, with the reason and a way out.

    Raises: UserError for a library that is not installed.
    """
    _torchvision_has_it(values, choices)
    _model_fits_data(choices, about)
    _augmentation_fits_data(values, choices, about)
    _inputs_fit_data(choices, about)
    _mask_is_used(values, choices, about)
    _batch_is_large_enough(values, choices, about)
    _norm_fits_recurrence(values, choices, about)
    _keys_are_used(values, choices, about)
    _norm_fits_model(values, choices, about)
    _one_initialization(values, choices)
    _beta1_is_used(values, choices)
    _rate_is_given(values, about)
    _layers_are_trained(values, choices)
    check_transformer(values, choices, about)
    _loggers_are_there(values["logger"])


def _loggers_are_there(names: Sequence[str]) -> None:
    """Raise UserError for a library that is not installed, and for one that is named twice."""
    if len(set(names)) < len(names):
        raise UserError(f"logger={shown(names)}: name each once")
    for name in names:
        need_extra("logger", name)


def _layers_are_trained(values: Values, choices: Mapping[str, str]) -> None:
    if values["compile"] == "norms" and choices["study"] != "none":
        raise Impossible(f"compile=norms is for training; study={choices['study']} needs compile=false or true")


def _torchvision_has_it(values: Values, choices: Mapping[str, str]) -> None:
    """Raise UserError for a network that torchvision lacks; where torchvision itself is not there, building says so."""
    name, known = values["model"].get("name"), torchvision_names() if choices["model"] == "torchvision" else ()
    if known and name not in known:
        raise UserError(no_such_network(str(name), known))


def _is_own(group: str, about: About) -> bool:
    """Tell whether a group's part is code of the user's own, which describes nothing."""
    return bool(about[group].get("_own_"))


def _model_fits_data(choices: Mapping[str, str], about: About) -> None:
    if _is_own("dataset", about) or _is_own("model", about):
        return
    kind, accepts = about["dataset"].get("_kind_", "image"), about["model"].get("_accepts_", "any")
    if kind not in read_by(accepts):
        needs = " or ".join(f"{word}s" for word in read_by(accepts))
        others = " or ".join([*(f"model={name}" for name in models_reading(kind)), *_data_for(accepts)])
        raise Impossible(
            f"model={choices['model']} needs {needs}, but dataset={choices['dataset']} holds {kind}s; "
            f"use {others or 'another data set'}"
        )


_ANY_VECTORS = {"_accepts_": "any", "_gives_": "vectors"}.items()


def models_reading(kind: str) -> list[str]:
    """Return the models that read data of a `_kind_`; of images, tables: those for which both are alike, no maps."""
    if kind not in read_by("any"):
        return [name for name in options("model") if option("model", name).get("_accepts_") == kind]
    return [name for name in options("model") if option("model", name).items() >= _ANY_VECTORS]


def read_by(accepts: str) -> tuple[str, ...]:
    """Return the `_kind_`s of data that a network with this `_accepts_` reads."""
    return ("image", "table") if accepts == "any" else (accepts,)


def _data_for(accepts: str) -> list[str]:
    """Return the data sets that a model of this kind reads, where it reads no images: of images there are many."""
    if "image" in read_by(accepts):
        return []
    return [f"dataset={name}" for name in options("dataset") if option("dataset", name)["_kind_"] == accepts]


def _augmentation_fits_data(values: Values, choices: Mapping[str, str], about: About) -> None:
    augmented = values["dataset"].get("crop") or values["dataset"].get("flip")
    kind = about["dataset"].get("_kind_")
    if augmented and kind != "image" and not _is_own("dataset", about):
        raise Impossible(
            f"dataset.crop and dataset.flip need images, but dataset={choices['dataset']} holds {kind}s; leave them out"
        )


def _inputs_fit_data(choices: Mapping[str, str], about: About) -> None:
    fitting = about["dataset"].get("_inputs_", [choices["inputs"]])
    if choices["inputs"] not in fitting:
        others = " or ".join(f"inputs={name}" for name in fitting)
        raise Impossible(
            f"inputs={choices['inputs']} does not fit dataset={choices['dataset']}: what marks, masks or numbers "
            f"its steps would change its meaning; use {others}"
        )


def _mask_is_used(values: Values, choices: Mapping[str, str], about: About) -> None:
    given = [key for key in about["dataset"].get("_masked_by_", []) if values["dataset"][key] not in (None, False)]
    masked = values["model"].get("masked")
    if masked is False and given:
        raise Impossible(
            f"dataset={choices['dataset']} with dataset.{given[0]} has a mask as its last feature, which "
            f"model={choices['model']} would take for data; add model.masked=true"
        )
    if masked and not given and about["dataset"].get("_kind_") == "sequence":
        raise Impossible(f"model.masked=true: dataset={choices['dataset']} has no mask as it is; leave it out")


def _batch_is_large_enough(values: Values, choices: Mapping[str, str], about: About) -> None:
    norm = about["norm"]
    if values["batch_size"] == 1 and norm.get("_batch_statistics_", False) and not norm.get("_works_with_one_"):
        raise Impossible(
            f"batch_size=1 with norm={choices['norm']}: its statistics are taken over the batch, and one "
            "example has no variance; use batch_size=2 or more, or norm=layer, group or weight"
        )


def _norm_fits_model(values: Values, choices: Mapping[str, str], about: About) -> None:
    if about["model"].get("_placed_"):
        return  # check_transformer says what has a form on tokens
    gives = "maps" if _is_own("model", about) else about["model"].get("_gives_")  # building it tells
    unless = about["norm"].get("_unless_")  # the setting with which it takes vectors, too
    if about["norm"].get("_needs_") == "maps" and gives != "maps" and not (unless and values["norm"][unless]):
        way_out = f"norm.{unless}=true, " * bool(unless)
        raise Impossible(
            f"norm={choices['norm']} needs feature maps, but model={choices['model']} has one value per "
            f"feature and example; use {way_out}norm=batch or norm=layer, or a convolutional model"
        )


def _norm_fits_recurrence(values: Values, choices: Mapping[str, str], about: About) -> None:
    if about["model"].get("_accepts_") not in _RECURRENT or _is_own("norm", about):  # whose hooks are its business
        return
    for scheme in _schemes(values, choices, about):
        if not scheme.about.get("_recurrent_"):
            names = options("norm") if scheme.place == "norm" else part_options()
            fitting = ", ".join(name for name in names if option("norm", name).get("_recurrent_"))
            raise Impossible(
                f"{scheme.place}={scheme.name} has no form for recurrent networks, but model={choices['model']} is "
                f"one; use one of {scheme.place}={fitting}"
            )


@dataclass(frozen=True)
class Scheme:
    """A scheme in a configuration: the norm, or an option of ours as a part of it (`norm.weights=weight`)."""

    place: str
    name: str
    values: Values
    about: Mapping[str, Any]


def _schemes(values: Values, choices: Mapping[str, str], about: About) -> Iterator[Scheme]:
    yield Scheme("norm", choices["norm"], values["norm"], about["norm"])
    for part, name in about["norm"].get("_chosen_parts_", {}).items():
        yield Scheme(f"norm.{part}", name, values["norm"][part], option("norm", name))


def _keys_are_used(values: Values, choices: Mapping[str, str], about: About) -> None:
    """Refuse another value than the usual one of a key that does nothing beside these settings."""
    schemes = list(_schemes(values, choices, about))
    chosen = {group: (name, values[group]) for group, name in choices.items() if group in values}
    chosen |= {scheme.place: (scheme.name, scheme.values) for scheme in schemes}
    for key, beside, reason in [
        *_unused(choices, about),
        *_of_others(values, about),
        *_undrawn(values, choices, about),
        *(each for scheme in schemes for each in _unused_of(scheme, values, choices, about)),
    ]:
        place, _, name = key.rpartition(".")
        name_of_option, given = chosen[place]  # the option there, and its values
        if name in given and given[name] != option(place.partition(".")[0], name_of_option)[name]:
            raise Impossible(f"{key}={shown(given[name])} with {beside}: {reason}")


def _unused(choices: Mapping[str, str], about: About) -> Iterator[tuple[str, str, str]]:
    """Yield each key that does nothing, the option that is the reason, and why, with a way out."""
    dataset, model = (f"{group}={choices[group]}" for group in ("dataset", "model"))
    if about["dataset"].get("_in_order_"):
        reason = "its test and validation examples are its last ones, nothing is drawn; leave it out"
        yield "dataset.split_seed", dataset, reason
    recurrent = about["model"].get("_accepts_") in _RECURRENT
    own_norm = _is_own("norm", about)
    if about["model"].get("_placed_") and not own_norm:
        yield "norm.placement", model, "where a transformer has its scheme says placement; use placement=post"
    if recurrent and not own_norm:
        yield "norm.placement", model, "a recurrent network has its scheme inside the cell; leave it out"


def _of_others(values: Values, about: About) -> Iterator[tuple[str, str, str]]:
    """Yield each key that does nothing with the value that another key of its group has."""
    for group in ("dataset", "model"):
        for key, condition in about[group].get("_only_with_", {}).items():
            for other, allowed in condition.items():
                if values[group][other] not in allowed:
                    beside = f"{group}.{other}={values[group][other]}"
                    yield f"{group}.{key}", beside, f"is for {group}.{other}={' or '.join(allowed)}; leave it out"


def _undrawn(values: Values, choices: Mapping[str, str], about: About) -> Iterator[tuple[str, str, str]]:
    """Yield `split_seed` where no key wants what it draws; a data set that does not say draws with it at any rate."""
    given, unread = values["dataset"], [key for key, _, _ in _of_others(values, about)]
    wishes = about["dataset"].get("_split_seed_draws_", {})
    read = {key: wish for key, wish in wishes.items() if f"dataset.{key}" not in unread}
    if wishes and not any(given[key] if wish == "any" else given[key] in wish for key, wish in read.items()):
        wanting = (key if wish == "any" else f"{key}={'|'.join(wish)}" for key, wish in read.items())
        named = ", ".join(f"dataset.{want}" for want in wanting)
        reason = f"nothing is drawn with it; it is for {named}; leave it out"
        yield "dataset.split_seed", f"dataset={choices['dataset']}", reason


def _unused_of(
    scheme: Scheme, values: Values, choices: Mapping[str, str], about: About
) -> Iterator[tuple[str, str, str]]:
    """Yield each key of a scheme that does nothing in this network, or beside another key of the scheme."""
    recurrent, own_model = about["model"].get("_accepts_") in _RECURRENT, _is_own("model", about)
    model, called = f"model={choices['model']}", f"{scheme.place}={scheme.name}"
    if not (recurrent or own_model) and choices["study"] == "none":
        for key in scheme.about.get("_in_recurrence_", []):
            yield f"{scheme.place}.{key}", model, f"{called} has it in recurrent networks alone; leave it out"
    if recurrent and not values["model"].get("normalize_output") and choices["study"] == "none":
        for key in scheme.about.get("_outside_recurrence_", []):
            yield f"{scheme.place}.{key}", model, f"{called} has it outside of recurrent cells; leave it out"
    # in a recurrent network a step that one sequence alone has reached in training is normalized by averages, too
    averaged = scheme.about.get("_recurrent_") and (recurrent or own_model)
    if scheme.values.get("estimates") == "population" and not averaged:
        estimates = f"{scheme.place}.estimates"
        for key in scheme.about.get("_of_running_averages_", []):
            reason = f"nothing reads running averages; leave it out, or use {estimates}=running"
            yield f"{scheme.place}.{key}", f"{estimates}=population", reason


def _one_initialization(values: Values, choices: Mapping[str, str]) -> None:
    own = values["model"].get("recurrent_init", "uniform")
    if own != "uniform" and choices["init"] != "default":
        raise Impossible(
            f"model.recurrent_init={own} with init={choices['init']}: both draw the recurrent weights; leave one out"
        )


def _beta1_is_used(values: Values, choices: Mapping[str, str]) -> None:
    beta1 = values["schedule"].get("beta1")
    if beta1 is not None and "betas" not in values["optim"]:
        others = " or ".join(f"optim={name}" for name in options("optim") if "betas" in option("optim", name))
        raise Impossible(
            f"schedule.beta1={beta1} with optim={choices['optim']}: it has no beta1; leave it out, or use {others}"
        )


def _rate_is_given(values: Values, about: About) -> None:
    if _is_own("optim", about) and "lr" not in values["optim"]:
        raise Impossible(
            f"optim={values['optim']['_target_']}: its learning rate, which the schedule changes, is not given; "
            "add optim.lr=NUMBER"
        )
    if values["optim"]["_target_"] == "torch.optim.LBFGS":
        raise Impossible(f"optim={SEVERAL_LOSSES}")
