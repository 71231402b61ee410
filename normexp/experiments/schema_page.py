"""docs/experiments.md: the YAML of an experiment on one page. `python -m normexp.experiments.schema_page` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from normexp.config.schema import spelling
from normexp.evidence.claims import estimands as claims
from normexp.evidence.claims.region import ALLOWED
from normexp.experiments import figure_kinds, grids, schema, tables
from normexp.experiments.figure import Figure

_HEAD = f"""# The YAML of an experiment

One file is one table or figure: `configs/experiment/NAME.yaml`, or a file of your own that `normexp reproduce my.yaml`
runs from any folder (a relative path of data in it starts where the command is called).
`normexp new experiment NAME` writes a beginning, with `--like OTHER` one that has all of another experiment and an arm
of your own; `normexp list experiments --schema` prints the JSON schema for editors. A mistake is one line with file,
line, key, value and what is allowed. This page is made from the schema
(`python -m normexp.experiments.schema_page > docs/experiments.md`), and a test holds them equal.

A claim is one of ten estimands (`compare`) and the region in which it is said to lie, `in`: {ALLOWED}.
The first run at a scale, or the first trial, writes `frozen.json`; what is declared otherwise afterwards is shown as
changed after it, and a `frozen.json` that is missing, or was written when runs were there, as declaring nothing before.

`like: OTHER` takes from another experiment, or from a file beside this one, what the file does not say: set-up, arms,
grid, choice, scales, table, figures, published numbers. A mapping is laid over the other's key by key, any other value
replaces it, and null takes it away (`arms: {{batch: null}}`, `select: null`): an arm, an axis or a choice at every
scale. Claims, looks, findings and minutes are never another's. So a scheme of your own stands beside all of
`which_norm_small` in three lines.

`select: {{halving: {{steps: [25, 100, 400], keep: [4, 2]}}}}` tries all combinations for 25 steps, the best four for
100 and the best two of these for 400. Each rung trains afresh with the selection's seeds, and all are recorded.

`select: {{seeds: [100], ties: [101, 102]}}` buys seeds only where they are needed: after the grid, or the last rung,
the best two of every choice train with seeds 101 and 102, too, where they lie within noise, at the settings of their
trials, and of these two the better mean over all three seeds is chosen. `--dry-run` says how many runs that is at
most, and for which choices once the others are trained. Declared or changed after the first trial, `ties` is shown
as changed.

`select: {{search: {{optim.lr: "tag(log,interval(0.001,1))"}}, sampler: {{name: tpe, trials: 20}}}}` draws 20 rates,
each in view of the scores before it (`pip install 'normexp[optuna]'`). Trials are ordinary runs, and a command that was
stopped goes on with the same ones: what was scored stands beside the results in `optuna.journal`, and in chosen.json.

`sequential: {{looks: [5, 10, 15, 20]}}` under a scale runs the grid's first five seeds, tests the claims, and adds
seeds until all are decided or the last look is over. Every look spends a share of the level, so that p-values,
intervals and Holm's correction hold however often one looked; the table says how far it went, and
[results/bench/looks.md](../results/bench/looks.md) what that costs and saves in simulated experiments.

Three or more values of `optim.lr`, in the grid or among those that `select` searches, give a second table,
`sensitivity.md`: every arm at one rate for all, at its own best rate, and how far it lies behind that best on average
over the logarithm of the rate, with an interval where there are several seeds. Of a search there is a figure, too,
`selection.png`: the metric by which was chosen against the rate.
"""


def page() -> str:
    """Return the page as Markdown."""
    experiment: list[type[BaseModel]] = [
        schema.ExperimentFile, schema.Law, schema.AtScale, grids.Selection, grids.Halving, grids.Sampler,
        grids.Sequential, tables.Table, tables.Look, tables.Published, tables.PublishedOnly,
    ]  # fmt: skip
    estimands: list[type[BaseModel]] = [
        claims.Value, claims.Difference, claims.Ratio, claims.Interaction, claims.StepsToTarget, claims.Count,
        claims.Equals, claims.Trend, claims.Follows, claims.Leaves,
    ]  # fmt: skip
    parts = [
        _HEAD,
        *_section("Keys", experiment),
        *_section("Claims", estimands),
        *_section("Figures", [Figure]),
    ]
    kinds = [f"- `{kind}`: {_first_line(model)} It {_own_keys(model)}" for kind, model in figure_kinds.MODELS.items()]
    return "\n".join([*parts, *kinds]) + "\n"


def _section(title: str, models: list[type[BaseModel]]) -> Iterator[str]:
    yield f"## {title}\n"
    for model in models:
        yield f"### {model.__name__}\n\n{_first_line(model)}\n"
        yield "| key | needed | meaning |\n| --- | --- | --- |"
        for name, field in model.model_fields.items():
            needed = "yes" if field.is_required() else ""
            meaning = field.description or _attributes(model).get(name, "")
            yield f"| `{spelling(name, field)}` | {needed} | {' '.join(meaning.replace('|', 'or').split())} |"
        yield ""


def _own_keys(model: type[BaseModel]) -> str:
    """Return the keys that a kind of figure has beside those of every figure, the ones that it needs first."""
    own = {name: field for name, field in model.model_fields.items() if name not in Figure.model_fields}
    meanings = {name: _meaning(model, name, field) for name, field in own.items()}
    words = {name: f"`{name}`" + (f" ({meanings[name]})" if meanings[name] else "") for name in own if name != "kind"}
    needed = ", ".join(text for name, text in words.items() if own[name].is_required())
    others = ", ".join(text for name, text in words.items() if not own[name].is_required())
    return "; ".join(part for part in (needed and f"needs {needed}", others and f"takes {others}") if part) + "."


def _meaning(model: type[BaseModel], name: str, field: FieldInfo) -> str:
    """Return what a key means, and the words that it, or each of its items, may be."""
    words = (", " if get_origin(field.annotation) is list else " or ").join(_literals(field.annotation))
    return ": ".join(filter(None, [field.description or _attributes(model).get(name, ""), words]))


def _literals(annotation: Any) -> list[str]:
    """Return the words that a type allows, alone or in a list."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    inside = get_args(annotation) if get_origin(annotation) in (list, Union, UnionType) else ()
    return [word for each in inside for word in _literals(each)]


def _attributes(model: type[BaseModel]) -> dict[str, str]:
    """Return what the docstring of a model says about its fields."""
    text = cleandoc(model.__doc__ or "").partition("Attributes:\n")[2]  # Python 3.13 takes the indent away itself
    parts = re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", text, re.MULTILINE)
    return {name: " ".join(words.split()).rstrip(".") for name, words in parts}


def _first_line(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


if __name__ == "__main__":
    print(page(), end="")
