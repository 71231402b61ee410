"""The contract of a study. The base class measures nothing and is itself `study=none`: the run trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property

import torch

from normexp.config import Config
from normexp.data.base import Data
from normexp.data.loading import load
from normexp.training.build import build, initialize_from_data
from normexp.training.components import Components
from normexp.training.process import process_settings

Row = Mapping[str, object]


@dataclass
class StudyContext:
    """What a study may use of the configuration; nothing is loaded or built before it is asked for.

    Args:
        process: undoes, when it is closed, what training changes in the process; without it, only the threads change.
    """

    config: Config
    process: ExitStack | None = None

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @property
    def data_loaded(self) -> bool:
        return "data" in self.__dict__

    @cached_property
    def data(self) -> Data:
        """The splits of `dataset`, as NumPy arrays."""
        return load(self.config)

    @cached_property
    def components(self) -> Components:
        """Everything that training needs, on the device, with initial weights, those that come of data included."""
        return self.build(self.data)

    def build(self, data: Data) -> Components:
        """Build the network for these data, as it is when training begins; the process computes as a training does."""
        if self.process is not None:
            self.process.enter_context(process_settings(self.config["compile"], self.config["precision"]))
        components = build(self.config, data)
        torch.set_num_threads(components.threads)
        initialize_from_data(components)
        return components


@dataclass(frozen=True)
class Number:
    """A number, or a sentence, that a document prints, beside what follows from the document's own inputs.

    Args:
        document: S000 ... S004, see `normexp.evidence.audit.DOCUMENTS`.
        place: where it is printed: section, equation, page.
        quantity: what it is.
        printed: as printed, typed off; the digits count.
        computed: by us, in full precision; of a sentence the exact statement.
        agrees: for a sentence whether it is right; None leaves the judgement to the digits.
        reading: under which reading of the document, where there is more than one.
        remark: what it should be and why, in a sentence.
    """

    document: str
    place: str
    quantity: str
    printed: str
    computed: float | str
    agrees: bool | None = None
    reading: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a study found.

    Args:
        rows: of metrics.csv: `step` (increasing integers; what they count is the study's to say) and every metric
            that the option's `_metrics_` names.
        tables: name -> rows of a CSV file of that name, for figures.
        numbers: printed numbers for the audit, see `normexp.evidence.audit`.
    """

    rows: Sequence[Row]
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    numbers: Sequence[Number] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """Measures nothing."""

    def measure(self, context: StudyContext) -> Outcome:
        """Return what was found; equal contexts give equal outcomes (wall-clock times excepted).

        Raises: UserError where the context does not fit the study.
        """
        return Outcome([])
