"""What a diagnosis says: faults, notes and the tables behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from normexp.records import printable

FAULT, NOTE = "fault", "note"
BATCH = "batch in evaluation"  # the kind of two findings: of a layer, and of the whole network
MOST_LAYERS = 4  # that one line names


@dataclass(frozen=True)
class Finding:
    """One thing about one layer.

    Args:
        kind: a word or two, the same for all layers that have it.
        layer: its path in the network; empty for the network itself.
        text: what it is and what helps, without the layer.
        level: fault or note.
    """

    kind: str
    layer: str
    text: str
    level: str = FAULT


@dataclass(frozen=True)
class Diagnosis:
    """Args:
    findings: faults first.
    layers: path of a normalization -> what was measured there: kind, disagreement, deviations, milliseconds, share.
    weights: name of a weight -> scale_change, squared_norm, and of a scale-invariant one its effective rate.
    summary: numbers of the whole network.
    """

    findings: Sequence[Finding] = ()
    layers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    summary: Mapping[str, float] = field(default_factory=dict)

    @property
    def faults(self) -> list[Finding]:
        return [each for each in self.findings if each.level == FAULT]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        first = [] if self.faults else ["no fault found"]
        return "\n".join([*first, *_grouped(self.findings), *_summary(self), *_table(self.layers)])


def _grouped(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield one line for each kind of finding, with the first layers that have it."""
    for level in (FAULT, NOTE):
        for kind in dict.fromkeys(each.kind for each in findings if each.level == level):
            same = [each for each in findings if each.kind == kind and each.level == level]
            named = ", ".join(each.layer for each in same[:MOST_LAYERS] if each.layer)
            more = f" and {len(same) - MOST_LAYERS} more" if len(same) > MOST_LAYERS else ""
            yield printable(f"{level}: {kind}: {f'{named}{more}: ' if named else ''}{same[0].text}")


def _summary(diagnosis: Diagnosis) -> Iterator[str]:
    for name, value in diagnosis.summary.items():
        yield f"{name.replace('_', ' ')}: {value:.4g}"


def _table(layers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the normalizations, a line each, under the names of what was measured."""
    if not layers:
        return
    heads = list(dict.fromkeys(key for row in layers.values() for key in row))
    rows = [["normalization", *heads]]
    rows += [[printable(path), *(_cell(row.get(key)) for key in heads)] for path, row in layers.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    yield ""
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
