"""A frame: the runs of a report, and the pandas tables made of them; `frames.reading` says what is in them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from normexp.config.hints import key_hint
from normexp.config.text import shown
from normexp.errors import UserError, did_you_mean, unknown
from normexp.evidence.curves import Cell, Curve
from normexp.report.frames.labels import PLACES, Labels
from normexp.report.frames.own_names import with_names_apart
from normexp.report.frames.record import OWN, Record

if TYPE_CHECKING:
    import pandas as pd

TAKEN = ("seed", "steps")  # keys of a config that have their column anyway


@dataclass(frozen=True, eq=False)
class Frame:
    """The runs of a report, and the tables made of them.

    Args:
        records: one per run, in the order of arms, axes and seeds.
        axes: names of the columns that, with the arm, make a cell.
        left_out: what is in no table, a line each.
    """

    records: tuple[Record, ...]
    axes: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @cached_property
    def runs(self) -> pd.DataFrame:
        step, steps = (_integers([record.status.get(key) for record in self.records]) for key in ("step", "steps"))
        cause = [str(record.status.get("cause", "")) for record in self.records]
        path = [str(record.directory.path) for record in self.records]
        return self._identity.assign(step=step, steps=steps, cause=cause, path=path, **self._options())

    @cached_property
    def curves(self) -> pd.DataFrame:
        tables = [_curve_columns(record) for record in self.records]
        return self._long(tables, {"step": np.int64, "epoch": np.float64, "metric": object, "value": np.float64})

    @cached_property
    def probes(self) -> pd.DataFrame:
        kinds = {"step": np.int64, "probe": object, "layer": object, "statistic": object, "value": np.float64}
        tables = [{key: [row[key] for row in record.probes] for key in kinds} for record in self.records]
        return self._long(tables, kinds)

    @property
    def metrics(self) -> list[str]:
        """What finished runs have measured."""
        return list(dict.fromkeys(name for record in self.records if record.finished for name in record.metrics))

    def keys(self, names: Sequence[str]) -> pd.DataFrame:
        """Return what the readable runs have for some keys (columns or options), as text, by the name of the run.

        Raises: UserError for a key that no run has.
        """
        import pandas as pd

        for name in names:
            self.check_key(name)
        readable = with_names_apart([record for record in self.records if not record.unreadable])
        texts = {name: [text(record.value(name)) for record in readable] for name in names}
        return pd.DataFrame(texts, index=[record.run for record in readable], dtype=object)

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The keys of the configurations that tell the arms apart, besides the scheme."""
        return Labels.among([record.options for record in self.records]).keys

    def check_readable(self) -> None:
        """Raise UserError, naming a file, where no run can be read."""
        first = self.records[0]
        if all(record.unreadable for record in self.records):
            others = f" (and {len(self.records) - 1} more)" if self.records[1:] else ""
            cause = os.path.join(first.directory.path, first.unreadable)  # which may name a file elsewhere: an archive
            raise UserError(f"{cause}{others}")

    def check_key(self, key: str) -> None:
        known = {*OWN, *self.axes, *(name for record in self.records for name in record.options or ())}
        if key not in known:
            meant = key_hint(key.rpartition(".")[2].lower()) or key
            close = next((name for name in sorted(known) if meant in (name, name.rpartition(".")[2])), None)
            error = UserError(f"key {key!r} does not exist{did_you_mean(close)}")
            raise error if close else unknown("key", key, sorted(known))

    @cached_property
    def cells(self) -> dict[Cell, dict[int, Curve]]:
        """The finished runs of one experiment, or of none, as the claims read them: cell -> seed -> curve.

        Two experiments, or two scales of one, may have cells of one name: theirs are asked for apart.
        """
        found: dict[Cell, dict[int, Curve]] = {}
        for record in self.records:
            if record.finished and record.seed is not None:
                found.setdefault(record.cell, {})[record.seed] = record.curve
        return found

    @cached_property
    def _identity(self) -> pd.DataFrame:
        import pandas as pd

        own = ("run", "experiment", "scale", "arm")
        columns: dict[str, Any] = {name: [getattr(record, name) for record in self.records] for name in own}
        columns |= {axis: [dict(record.point).get(axis) for record in self.records] for axis in self.axes}
        columns["seed"] = _integers([record.seed for record in self.records])
        return pd.DataFrame({**columns, "status": [record.state for record in self.records]})

    def _options(self) -> dict[str, list[Any]]:
        """Return the chosen scheme, data set and model, and every key that varies: numbers where all values are."""
        known = [record.options for record in self.records]
        wanted = [key for key in dict.fromkeys(("norm", *PLACES, *self.varying)) if key not in (*self.axes, *TAKEN)]
        return {key: _as_numbers([options.get(key) if options else None for options in known]) for key in wanted}

    def _long(self, tables: Sequence[Mapping[str, Any]], kinds: Mapping[str, Any]) -> pd.DataFrame:
        """Put the tables of all runs below each other, beside the columns that say whose row it is."""
        first = next(iter(kinds))
        rows = np.repeat(np.arange(len(tables)), [len(table[first]) for table in tables])
        frame = self._identity.take(rows).reset_index(drop=True).astype({"seed": np.int64})
        parts = {key: [np.asarray(table[key], dtype=kind) for table in tables] for key, kind in kinds.items()}
        return frame.assign(**{key: np.concatenate([*part, np.empty(0, kinds[key])]) for key, part in parts.items()})


def _curve_columns(record: Record) -> dict[str, Any]:
    count, steps = len(record.metrics), record.steps
    epochs = record.columns.get("epoch", [np.nan] * len(steps))
    return {
        "step": np.tile(steps, count),
        "epoch": np.tile(epochs, count),
        "metric": np.repeat(np.array(list(record.metrics), dtype=object), len(steps)),
        "value": np.concatenate([*record.metrics.values(), np.empty(0)]),
    }


def text(value: object) -> str:
    """Return a value of a key as it is typed in an override; nothing where there is none."""
    return "" if value is None else shown(value)


def _integers(values: Sequence[Any]) -> Any:
    """Return whole numbers of which some may be missing."""
    import pandas as pd

    return pd.array(values, dtype="Int64")


def _as_numbers(texts: list[str | None]) -> list[Any]:
    """Return the values as numbers where all that are there can be read as such."""
    try:
        return [None if text is None else float(text) for text in texts]
    except ValueError:
        return list(texts)
