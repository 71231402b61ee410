"""Options of a scheme that count updates, in a run that is over before they are reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from normexp.config import Config
from normexp.config.options import option, options
from normexp.config.text import amount
from normexp.training.components import Components

MUCH = 0.3  # of running estimates, that is still what they started from
TRIAL = 20  # updates; of a shorter run nobody expects estimates that have settled


def unreached(config: Config, components: Components) -> str:
    """Say in one line that options wait for more updates than the run has, and what it trains; empty if none does.

    The scheme says which these are (`_waits_`), the weightiest first, and what there is until then.
    """
    for prefix, scheme in _schemes(config):
        waits = scheme.get("_waits_", {})
        late = [key for key in waits if scheme[key] > components.steps]
        if late:
            named = ", ".join(f"{prefix}.{key}={scheme[key]}" for key in late)
            outlast = f"outlast{'s' * (len(late) == 1)} the run of {amount(components.steps, 'update')}"
            return f"norm={config.choices['norm']}: {named} {outlast}: {waits[late[0]]}"
    return ""


def unsettled(config: Config, components: Components) -> str:
    """Say in one line that much of the running estimates at the end of the run is still their start; else nothing."""
    for prefix, scheme in _schemes(config):
        averages = scheme.get("_of_running_averages_", {}) if _evaluates_by_averages(scheme) else {}
        for key, unit in averages.items():
            moves = components.steps * _moves_of_update(unit, scheme, components.batches.batch_size)
            share = (1 - scheme[key]) ** moves
            if components.steps >= TRIAL and share > MUCH:
                still = f"at the end of the run {100 * share:.0f} % of the running estimates is what they started from"
                return f"{prefix}.{key}={scheme[key]}: {still}, and evaluation takes them; give a larger one"
    return ""


def _evaluates_by_averages(scheme: Mapping[str, Any]) -> bool:
    """Tell whether evaluation takes running averages in which their start counts."""
    return scheme.get("estimates", "running") == "running" and not scheme.get("bias_correction")


def _moves_of_update(unit: str, scheme: Mapping[str, Any], batch_size: int) -> float:
    """Return how often an update moves the averages.

    Args:
        unit: what moves them once: `update`, `example`, or the option that is a number of examples.
    """
    each = {"update": batch_size, "example": 1}.get(unit) or scheme[unit]
    return max(1.0, batch_size / each)


def _schemes(config: Config) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield where a scheme of ours stands, with its values and what its option says: the run's own, or its parts."""
    ours = {each["_target_"]: each for each in (option("norm", name) for name in options("norm"))}
    norm = config["norm"]
    for prefix, values in [("norm", norm), *((f"norm.{key}", value) for key, value in norm.items())]:
        if isinstance(values, Mapping) and values.get("_target_") in ours:
            yield prefix, {**ours[values["_target_"]], **values}
