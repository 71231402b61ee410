"""Names in an experiment that would stand for one file, folder, column or claim, or for none: refused ahead of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from normexp.config.text import composed, has_control_characters
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment, Point, folder_name, point_name, product
from normexp.experiments.figure_kinds import SELECTION, TARGETS
from normexp.experiments.folders import folder_problem
from normexp.experiments.trials import combinations, points

OF_ITS_OWN = {
    SELECTION: "the picture of the choice",
    TARGETS: "the picture of claims about steps over a range of targets",
}


def check_arm_folders(experiment: Experiment, document: Document) -> None:
    """Raise UserError for an arm whose name is none for a folder, or that would write into another one's."""
    seen: dict[str, str] = {}
    for arm in experiment.arms:
        if has_control_characters(arm):
            raise document.error(f"{arm!r} has control characters, which no table can show", "arms", arm)
        if problem := folder_problem(folder_name(arm)):
            raise document.error(f"an arm's name is its folder's, too: {problem}", "arms", arm)
        if (other := seen.setdefault(_one_case(folder_name(arm)), arm)) != arm:
            raise document.error(f"{other!r} and {arm!r} would share a folder", "arms", arm)


def check_run_folders(experiment: Experiment, document: Document) -> None:
    """Raise UserError for values of the grid, or of a choice, that make no folder's name, or the same one."""
    _check_points(document, experiment.points(), "grid")
    if select := experiment.select:
        places = product({axis: experiment.grid[axis] for axis in select.per})
        steps = select.halving.steps[-1] if select.halving else None
        trials = [point for values in combinations(select) for point in points(select, values, steps)]
        _check_points(document, [at + trial for at in places for trial in trials], "select", "search")


def check_figure_names(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a figure in the place of another one, or of one that is drawn without being asked for."""
    seen: dict[str, int] = {}
    for i, figure in enumerate(experiment.figures):
        name = _one_case(figure.name)
        if name in OF_ITS_OWN:
            raise document.error(f"{figure.name!r} is {OF_ITS_OWN[name]}; give another name", "figures", i, "name")
        if (other := seen.setdefault(name, i)) != i:
            raise document.error(
                f"{figure.name!r} is the file of figures[{other}], too; give another name", "figures", i, "name"
            )


def check_columns(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a column that stands in the table twice, and for two printed numbers in one place of it."""
    looks = experiment.table.looks
    if twice := _repeated([look.key for look in looks]):
        raise document.error(f"columns[{twice[1]}] is the same", "table", "columns", twice[0])
    if twice := _repeated((entry.arm, *entry.key) for entry in experiment.published):
        raise document.error(f"published[{twice[1]}] is of the same arm and column", "published", twice[0])
    if twice := _repeated((entry.arm, entry.metric) for entry in experiment.published_only):
        raise document.error(f"published_only[{twice[1]}] is of the same arm and metric", "published_only", twice[0])


def check_texts(experiment: Experiment, document: Document) -> None:
    """Raise UserError for two claims in the same words: what is frozen is found again by them."""
    if twice := _repeated(claim.text for claim in experiment.claims):
        raise document.error(f"claims[{twice[1]}] has the same text", "claims", twice[0], "text")


def _check_points(document: Document, there: Iterable[Point], *place: str) -> None:
    seen: dict[str, Point] = {}
    for point in there:
        if problem := folder_problem(point_name(point)):
            raise document.error(f"the values are a folder's name: {problem}", *place)
        if (other := seen.setdefault(_one_case(point_name(point)), point)) != point:
            key, one, two = _difference(other, point)
            raise document.error(f"{one!r} and {two!r} would share the folder {point_name(point)}", *place, key)


def _difference(one: Point, two: Point) -> tuple[str, object, object]:
    """Return the first key of two points that differs, and its two values."""
    others: Mapping[str, object] = dict(two)
    return next((key, value, others[key]) for key, value in one if value != others[key])


def _repeated(keys: Iterable[object]) -> tuple[int, int] | None:
    """Return the position of the first thing that was there before, and where that was."""
    seen: dict[object, int] = {}
    for i, key in enumerate(keys):
        if (before := seen.setdefault(key, i)) != i:
            return i, before
    return None


def _one_case(name: str) -> str:
    """Return a name as a file system reads it that does not tell A from a, as those of macOS and Windows."""
    return composed(name).casefold()
