"""The YAML of an experiment as typed objects: a paper's table or figure as arms, a grid, claims and published numbers.

`normexp list experiments --schema` prints this as JSON schema for editors; docs/experiments.md is this on one page.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from normexp.config.schema import Strict, refusal
from normexp.errors import unknown
from normexp.evidence.claims.estimands import AnyClaim
from normexp.evidence.claims.fields import Text
from normexp.evidence.scales import Scale
from normexp.experiments.checks.labels import check_labels
from normexp.experiments.figure_kinds import FigureSpec
from normexp.experiments.grids import Grid, Overrides, Selection, SelectionAtScale, Sequential
from normexp.experiments.ranges import check_claim, check_margin
from normexp.experiments.tables import Published, PublishedOnly, Table


class Section(Strict):
    """Keys of which null, or nothing behind the colon, is as good as leaving them out where that is allowed."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        optional = [name for name, field in cls.model_fields.items() if not field.is_required()]
        return {key: value for key, value in data.items() if value is not None or key not in optional}


class AtScale(Section):
    """What a scale lays over the rest. `paper` is for a published set-up only."""

    about: str | None = None
    """The set-up in a paragraph, in place of the experiment's own."""
    here: str | None = None
    """What is so at this scale, said behind the experiment's own paragraph."""
    common: Overrides = Field(default_factory=dict)
    """Overrides of every run."""
    arms: dict[str, Overrides] = Field(default_factory=dict)
    """Name of an arm -> overrides of its runs, laid over its own."""
    grid: Grid = Field(default_factory=dict)
    """Other values of axes of the grid."""
    select: SelectionAtScale | None = None
    """Other search, seeds or overrides of the selection."""
    sequential: Sequential | None = None
    """Looks at which the runs may stop, the claims being decided."""
    deviations: list[str] = Field(default_factory=list)
    """What differs from the paper at this scale."""
    findings: list[str] = Field(default_factory=list)
    """What was found out about the results (why a claim fails)."""
    underpowered: str = ""
    """Why the claims stand although so few seeds cannot decide them by ranks."""

    @model_validator(mode="after")
    def _has_one_text(self) -> AtScale:
        if self.about and self.here:
            raise refusal("about and here: give one of the two")
        return self


class Law(Strict):
    """What `normexp laws` prints of an experiment that tests a formula."""

    name: Text
    """A few words: what the law is about."""
    formula: Text
    """As the page prints it, in one line."""
    lesson: Text
    """What it means, for a student: the paragraph of docs/laws.md."""
    tolerance: str = ""
    """What the measurement may be off by, and what of that is derived; docs/laws.md prints it."""
    from_memory: bool = False
    """Whether the formula was not read in its source; the study's docstring then derives it."""


def _needed_unless_like(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"required": ["like"]}, {"required": schema.pop("required")}]


class ExperimentFile(Section, json_schema_extra=_needed_unless_like):
    """An experiment: one file in configs/experiment, or a file of your own."""

    like: str = ""
    """Experiment, or file beside this one, that says what this one does not (`null` takes away); claims are its own."""
    paper: Text
    """Authors, year, number; for an experiment of ours what it is."""
    item: Text
    """Where it is printed."""
    title: Text
    """What it is called."""
    summary: str = ""
    """A question that the claims answer; writes summary.md, one page."""
    law: Law | None = None
    """The formula that it tests; `normexp laws` shows it, `normexp reproduce --laws` runs it."""
    about: Text
    """The set-up in a paragraph."""
    common: Overrides = Field(default_factory=dict)
    """Overrides of every run, as `normexp run` takes them."""
    arms: dict[str, Overrides] = Field(min_length=1)
    """Name as printed -> overrides; rows of the table, curves of the figure."""
    refused: dict[str, Overrides] = Field(default_factory=dict)
    """Arms that the program must refuse; the table says so, in its words."""
    grid: Grid = Field(min_length=1)
    """Key -> values; every combination is run for every arm. `seed` must be there."""
    select: Selection | None = None
    """How hyperparameters are chosen."""
    minutes: dict[Scale, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Scale -> minutes that all its runs took, one after the other, on the machine of the committed records."""
    scales: dict[Scale, AtScale | None] = Field(min_length=1)
    """What is laid over the rest at each scale."""
    table: Table
    """What stands in the table."""
    published: list[Published] = Field(default_factory=list)
    """Numbers that the paper prints, set beside ours."""
    published_only: list[PublishedOnly] = Field(default_factory=list)
    """Rows of the printed table that are not run here."""
    figures: list[FigureSpec] = Field(default_factory=list)
    """What is drawn; see `normexp.experiments.figure_kinds`."""
    claims: list[AnyClaim] = Field(default_factory=list)
    """Sentences of the paper, each an estimand and a region."""
    deviations: list[str] = Field(default_factory=list)
    """What differs from the paper; printed under the table."""
    underpowered: str = ""
    """Why the claims stand although so few seeds cannot decide them by ranks."""

    @model_validator(mode="after")
    def _scales_name_arms(self) -> ExperimentFile:
        for scale, own in self.scales.items():
            for arm, overrides in own.arms.items() if own else ():
                if arm not in self.arms:
                    raise refusal(unknown("arm", arm, self.arms), "scales", scale, "arms", arm)
                if axis := next((key for key in overrides if key in self.grid), None):
                    replaced = f"{axis} is an axis of the grid, whose values would replace it"
                    raise refusal(replaced, "scales", scale, "arms", arm, axis)
        return self

    @model_validator(mode="after")
    def _has_what_scales_are_laid_over(self) -> ExperimentFile:
        for scale, own in self.scales.items():
            if own and own.select and not self.select:
                raise refusal("there is no select that it could be laid over", "scales", scale, "select")
        return self

    @model_validator(mode="after")
    def _names_what_there_is(self) -> ExperimentFile:
        for scale in self.minutes:
            if scale not in self.scales:
                raise refusal(unknown("scale", scale, self.scales), "minutes", scale)
        grids = [self.grid, *(own.grid for own in self.scales.values() if own)]
        for i, figure in enumerate(self.figures):
            check_labels(figure, i, list(self.arms), grids)
        return self

    @model_validator(mode="after")
    def _margin_has_a_number(self) -> ExperimentFile:
        judged = [entry for entry in self.published if entry.at and not entry.said]
        if self.table.margin is not None and not judged:
            raise refusal("there is no published number to be near to", "table", "margin")
        if self.table.margin is not None:
            check_margin(self.table.margin, [each.metric if each.is_of_metric else "" for each in judged])
        for i, claim in enumerate(self.claims):
            check_claim(claim, i)
        return self
