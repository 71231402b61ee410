"""Several probes in one run."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.config import options
from normexp.config.instantiate import instantiate_option
from normexp.errors import unknown
from normexp.probes.base import Probe, Row, Situation


@dataclass(frozen=True, kw_only=True)
class Several(Probe):
    """Every probe that is named, with its default settings, under its own name in probes.csv.

    Args:
        of: options of `probe`, in the order of the rows.

    Raises:
        ValueError: if no probe is named, or one twice.
        UserError: for a name that is none.
    """

    of: tuple[str, ...] = ("moments", "gradient_norm", "weight_norm")

    def __post_init__(self) -> None:
        allowed = [name for name in options("probe") if name not in ("none", "several")]
        for name in self.of:
            if name not in allowed:
                raise unknown("probe", name, allowed)
        if not self.of or len(set(self.of)) < len(self.of):
            raise ValueError(f"probe.of=[{','.join(self.of)}]: name at least one probe, and each once")

    def rows(self, name: str, situation: Situation) -> list[Row]:
        return [row for part in self.of for row in make(part).rows(part, situation)]


def make(name: str) -> Probe:
    """Build an option of `probe` with its default settings."""
    probe: Probe = instantiate_option("probe", name)
    return probe
