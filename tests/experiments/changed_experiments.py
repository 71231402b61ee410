"""A sound experiment, and changes of it."""

from collections.abc import Callable
from typing import Any

from sound_experiment import HEAD

SOUND: dict[str, Any] = {
    **HEAD,
    "grid": {"seed": [0, 1], "batch_size": [8, 16]},
    "select": {"search": {"optim.lr": [0.1, 0.5]}, "seeds": [100], "metric": "validation/accuracy"},
    "scales": {"smoke": None, "cpu": {"common": {"threads": 1}, "grid": {"seed": [0]}, "underpowered": "a test"}},
    "table": {"metric": "test/accuracy", "baseline": "Plain"},
    "published": [
        {"arm": "With BN", "metric": "test/accuracy", "at": "last", "value": "98.3", "unit": "%", "place": "Table 1"}
    ],
    "figures": [{"name": "curves", "kind": "curves", "metric": "test/loss"}],
    "claims": [
        {"text": "BN is better", "source": "section 1", "compare": "difference", "metric": "test/accuracy",
         "of": "With BN", "than": "Plain", "in": "> 0"}
    ],
}  # fmt: skip


def change(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    """Return what sets the entry at a path."""

    def apply(data: dict[str, Any]) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return apply


def drop(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def apply(data: dict[str, Any]) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return apply
