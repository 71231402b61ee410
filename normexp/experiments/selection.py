"""How hyperparameters are chosen: the best of the selection's trials, and the record of it.

`chosen.json` may come from a stranger's folder. It is read as plain values, for exactly the keys that the experiment
searches and only those values that it tries; nothing else in it gets into a configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config.intervals import read_interval
from normexp.config.text import is_number, short_repr
from normexp.errors import UserError
from normexp.experiments.experiment import Experiment
from normexp.experiments.halving import last_rung, rungs, trials_of
from normexp.experiments.noise import best_two_within_noise
from normexp.experiments.trials import SEEDS, STEPS, Choosing, Trial, Values, best, choosings, combinations, ranked
from normexp.records import write_atomically
from normexp.records.files import read_json
from normexp.records.names import CHOSEN

if TYPE_CHECKING:
    from normexp.experiments.grids import Selection


def choice_path(experiment: Experiment, results: Path) -> Path:
    return experiment.folder(results) / CHOSEN


def read_choice(experiment: Experiment, results: Path) -> dict[str, dict[str, Any]]:
    """Return {name of the choice: hyperparameters}; empty where the experiment chooses none."""
    if experiment.select is None:
        return {}
    chosen: dict[str, dict[str, Any]] = read_selection(experiment, results)["chosen"]
    one = experiment.select.arm
    return {arm: chosen[one] for arm in experiment.arms if one in chosen} if one else chosen


def read_selection(experiment: Experiment, results: Path) -> dict[str, Any]:
    """Return the record of the selection: metric, seeds, chosen and tried combinations per arm.

    Raises: UserError where there is none, where it is damaged, or where it names what was not searched.
    """
    path = choice_path(experiment, results)
    if not path.exists():
        raise UserError(f"{path}: not there; run `normexp reproduce {experiment.name} scale={experiment.scale}`")
    return _read_record(path, experiment)


def _read_record(path: Path, experiment: Experiment) -> dict[str, Any]:
    assert experiment.select is not None
    again = "delete it, `normexp reproduce` writes it from the runs"
    record = read_json(path)
    try:
        seeds, metric = [int(seed) for seed in record["seeds"]], str(record["metric"])
        names = experiment.choices(list(experiment.arms))
        chosen = {name: dict(values) for name, values in record["chosen"].items() if name in names}
        trials = {name: each for name, each in record["tried"].items() if name in chosen}
        tried = {name: [_trial(trial, seeds) for trial in each] for name, each in trials.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path}: damaged; {again}") from None
    if metric != experiment.select.metric:
        raise UserError(f"{path}: chosen by {metric}, the experiment chooses by {experiment.select.metric}; {again}")
    for name, values in [*chosen.items(), *((name, trial["values"]) for name, each in tried.items() for trial in each)]:
        if (problem := _not_searched(values, experiment.select.search)) is not None:
            raise UserError(f"{path}: {name}: {problem}; {again}")
    return {"metric": metric, "seeds": seeds, "chosen": chosen, "tried": tried}


def _trial(given: Mapping[str, Any], usual: Sequence[int]) -> Trial:
    """Return a trial of the record. Raises ValueError unless there is a score for each seed, `usual` or its own."""
    scores = [None if score is None else float(score) for score in given["scores"]]
    budget = {STEPS: int(given[STEPS])} if STEPS in given else {}
    seeds = {SEEDS: [int(seed) for seed in given[SEEDS]]} if SEEDS in given else {}
    if len(seeds.get(SEEDS, usual)) != len(scores):
        raise ValueError("every seed has a score")
    mean = None if None in scores else float(given["mean"])
    return {"values": dict(given["values"]), **budget, **seeds, "scores": scores, "mean": mean}


def _not_searched(values: Mapping[str, Any], search: Mapping[str, Sequence[Any] | str]) -> str | None:
    """Return what is wrong with a recorded combination; None where each key has one of the values searched."""
    if set(values) != set(search):
        return f"{', '.join(values) or 'no key'} was not searched; searched are {', '.join(search)}"
    for key, value in values.items():
        tried = search[key]
        if isinstance(tried, str):
            if value not in read_interval(key, tried):
                return f"{key}={short_repr(value)} is not in {tried}"
        elif not any(type(value) is type(each) and value == each for each in tried):
            return f"{key}={short_repr(value)} was not tried; tried are {', '.join(map(short_repr, tried))}"
    return None


def write_choice(experiment: Experiment, results: Path, arms: Sequence[str]) -> None:
    """Choose the combination that is best in the mean over its seeds, and record all of them.

    What was chosen for other arms stays, unless it was with other seeds.
    """
    select, path = experiment.select, choice_path(experiment, results)
    assert select is not None
    before = _read_record(path, experiment) if path.exists() else {"chosen": {}, "tried": {}, "seeds": []}
    same = before["seeds"] == select.seeds
    record: dict[str, Any] = {key: dict(before[key]) if same else {} for key in ("chosen", "tried")}
    for name, choosing in choosings(experiment, results, arms).items():
        tried = [trial for rung in range(rungs(select)) for trial in trials_of(choosing, rung)]
        record["tried"][name] = tried
        record["chosen"][name] = _best_values(choosing, last_rung(tried), before["chosen"].get(name))
    record |= {"metric": select.metric, "seeds": select.seeds}
    record["notes"] = {name: found for name in record["chosen"] if (found := remarks(record, name, select))}
    write_atomically(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def _best_values(choosing: Choosing, last: Sequence[Trial], before: Values | None) -> Values:
    """Return the best combination: of equals, and where none has a score, the one before; else `ranked` decides."""
    recorded = [trial for trial in best(last, choosing.select) or last if trial["values"] == before]
    values: Values = (recorded or ranked(choosing, last))[0]["values"]
    return values


def remarks(record: Mapping[str, Any], name: str, select: Selection) -> list[str]:
    """Return what a table has to say of a choice: an edge of its grid, a tie, further seeds for the best two."""
    chosen, tried = record["chosen"][name], last_rung(record["tried"].get(name, []))
    found = [
        f"{key}={chosen[key]} is at the edge of its grid" for key in select.search if _at_edge(chosen, key, select)
    ]
    equal = [trial["values"] for trial in best(tried, select)] if tried else []
    if tried and not equal:
        found.append("no combination has a score: in each a run diverged")
    if len(equal) > 1:
        others = [values for values in equal if values != chosen]
        found.append(f"tied with {'; '.join(choice_text(values) for values in others)}")
    if tried and (further := [seed for seed in tried[0].get(SEEDS, []) if seed not in record["seeds"]]):
        found.append(f"the best two lay within noise and were trained with seeds {', '.join(map(str, further))}, too")
    return found


def _at_edge(chosen: Mapping[str, Any], key: str, select: Selection) -> bool:
    """Tell whether a number is the smallest or the largest there was; of two values, each is."""
    values = [each[key] for each in combinations(select)] if select.sampler else select.search[key]
    return len(values) > 1 and all(map(is_number, values)) and chosen[key] in (min(values), max(values))


def choice_text(values: Mapping[str, Any]) -> str:
    """Return hyperparameters as they are typed: `optim.lr=0.1, model.width=64`."""
    return ", ".join(f"{key}={value}" for key, value in values.items())


def recorded_selection(experiment: Experiment, results: Path) -> dict[str, Any] | None:
    """Return the record of the selection; None where the experiment chooses nothing, or nothing was chosen yet."""
    if experiment.select is None or not choice_path(experiment, results).exists():
        return None
    return read_selection(experiment, results)


def undecided_choices(experiment: Experiment, record: Mapping[str, Any]) -> list[str]:
    """Return the choices with fewer than three seeds whose best two combinations lie within noise."""
    select = experiment.select
    assert select is not None  # there is a record of it
    last = {name: last_rung(tried) for name, tried in record["tried"].items()}
    few = [name for name, trials in last.items() if all(len(trial["scores"]) < 3 for trial in trials)]
    return [name for name in few if best_two_within_noise(last[name], experiment, select)]
