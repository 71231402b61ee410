"""What a sweep will do: its cells, each one configuration, and which of them are still to be trained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from normexp.config import Config, compose
from normexp.config.grid import expand
from normexp.config.identity import IGNORED_KEYS
from normexp.config.intervals import is_interval
from normexp.config.overrides import parse_overrides
from normexp.config.recipe import Item, described, naming, recipe, with_recipe
from normexp.config.text import amount
from normexp.errors import Impossible, UserError
from normexp.records import DAMAGED, FINISHED, Damaged, RunDirectory
from normexp.runs.own_code import changed_code, with_another
from normexp.runs.place import check_data, default_run_dir, with_content
from normexp.runs.run import check_stale, check_writable, fraction_left, read_status
from normexp.sweeps.shard import WHOLE, Shard, in_shard

_KEY_OF = re.compile(r"key '(\w+)\.")  # begins an error about a key that does not exist
SAME_RUN = "are the same run, trained once; sweep one after the other into two folders"
WHY_ONE = {
    "logger": "all runs of a sweep have the same; for two of them, 'logger=[ONE,OTHER]'",
    "results_dir": "all runs of a sweep lie in one folder; sweep one after the other",
}


@dataclass(frozen=True)
class Cell:
    """One configuration of a sweep, where it is recorded, and what of it is of the recipe: nobody typed that."""

    config: Config
    path: Path
    recipe: Mapping[str, Item] = field(default_factory=dict)

    @property
    def overrides(self) -> list[str]:
        return self.config.overrides

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(self.path)

    @cached_property
    def record(self) -> dict[str, Any]:
        """The record when the sweep was planned, which a run sets aside where it is `damaged`. Raises Unreadable."""
        try:
            return read_status(self.directory)
        except Damaged:
            return {"status": DAMAGED}

    @property
    def state(self) -> str:
        return str(self.record["status"])

    @property
    def left(self) -> float:
        """The fraction of its steps that are still to do."""
        return fraction_left(self.record)

    @property
    def kind(self) -> tuple[object, ...]:
        """What decides how long it takes: everything but the seed and the optimizer's numbers."""
        changes = self.config.changes.items()
        return tuple((key, str(value)) for key, value in changes if key != "seed" and not key.startswith("optim."))


class Trial(NamedTuple):
    """Where a search is: at trial `number` of so many, with runs ahead that nobody has drawn yet."""

    number: int
    trials: int
    ahead: int


@dataclass
class Plan:
    """The cells of a sweep by what is to be done with them, and the combinations that cannot work.

    Args:
        results: the folder above all run directories.
        names: of the cells, where what they differ in tells more than their run directory.
        recipes: what nobody typed, a line for each combination of data set and network.
        trials: that take as long and are counted in its estimate; 0 where the estimate of an earlier plan did.
        trial: where the search is whose runs these are.
    """

    cells: list[Cell]
    impossible: list[str] = field(default_factory=list)
    results: Path = Path("results")
    names: Mapping[Path, str] = field(default_factory=dict)
    recipes: Sequence[str] = ()
    trials: int = 1
    trial: Trial | None = None

    def name(self, cell: Cell) -> str:
        return self.names.get(cell.path) or str(cell.path)

    @property
    def done(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.state in FINISHED]

    @property
    def open(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.state not in FINISHED]

    def to_train(self, force: bool) -> list[Cell]:
        return self.cells if force else self.open

    @property
    def damaged(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.state == DAMAGED]

    def describe(self) -> str:
        new = sum(cell.state == "new" for cell in self.open)
        begun = len(self.open) - new - len(self.damaged)
        done = f"{len(self.done)} finished{self._with_other_code()}"
        return f"{amount(len(self.cells), 'run')}: {done}, {new} new, {begun} to resume"

    def _with_other_code(self) -> str:
        """Say of how many finished runs the user's own code has changed since."""
        changed = [found for cell in self.done if (found := changed_code(cell.config, cell.directory))]
        if not changed:
            return ""
        return f" ({len(changed)} {with_another(chain(*changed))} there is now; --force trains all again)"


def make_plan(overrides: Sequence[str], force: bool = False, shard: Shard = WHOLE) -> Plan:
    """Compose and check every cell before anything starts; equal cells collapse into one.

    Raises: UserError for the first value that is not allowed, and for a shard without cells. A combination of allowed
    values that cannot work (batch statistics with one example, say) is left out and explained, unless nothing else
    remains.
    """
    cells: dict[Path, Cell] = {}
    typed: dict[Path, list[str]] = {}
    impossible, recipes = [], {}
    for arguments in expand(overrides):
        if settings := recipe(arguments):
            recipes[described(settings)] = settings
        try:
            with naming(settings):
                config = with_content(compose(with_recipe(arguments)))
        except Impossible as error:
            impossible.append(str(error))
        except UserError as error:
            raise _with_option(error, arguments, overrides) from None
        else:
            path = default_run_dir(config)
            cells.setdefault(path, Cell(config, path, settings))
            typed.setdefault(path, list(arguments))
    check_varied(overrides)
    if not cells:
        raise UserError(impossible[0] if impossible else f"{' '.join(overrides)}: no run (an empty range)")
    results = Path(next(iter(cells.values())).config["results_dir"])
    own = in_shard(list(cells.values()), shard)
    if not own:
        raise UserError(
            f"shard={shard.part}/{shard.parts}: {amount(len(cells), 'run')} make at most {len(cells)} parts"
        )
    check_cells(own, force)
    return Plan(own, list(dict.fromkeys(impossible)), results, _told_apart(typed), tuple(recipes))


def _with_option(error: UserError, arguments: Iterable[str], overrides: Sequence[str]) -> UserError:
    """Return an error about a key of a group with the option that lacks it, where a sweep has several of them."""
    about = _KEY_OF.match(str(error))
    chosen = [text for text in arguments if about and text.startswith(f"{about[1]}=") and text not in overrides]
    return UserError(f"{chosen[0]}: {error}") if chosen else error


def check_varied(overrides: Sequence[str]) -> None:
    """Raise UserError for a sweep over what is no part of a run: over where its runs lie, or what computes them."""
    for override in parse_overrides(overrides):
        key, typed = str(override.key_or_group), override.input_line or ""
        if key in IGNORED_KEYS and override.is_sweep_override():
            values = [typed] if is_interval(override) else list(dict.fromkeys(each for (each,) in expand([typed])))
            if len(values) > 1 or is_interval(override):
                raise UserError(f"{' and '.join(values[:2])}: {WHY_ONE.get(key, SAME_RUN)}")


def _told_apart(typed: Mapping[Path, Sequence[str]]) -> dict[Path, str]:
    """Return what was typed for every cell and not for all: `norm=batch optim.lr=0.1`."""
    common = set.intersection(*map(set, typed.values()))
    return {path: " ".join(word for word in words if word not in common) for path, words in typed.items()}


def check_cells(cells: Iterable[Cell], force: bool) -> None:
    """Raise UserError for a cell that cannot be recorded, or was recorded under other defaults or with other data."""
    for cell in cells:
        if cell.state not in FINISHED or force:
            check_writable(cell.path)
        if cell.state not in ("new", DAMAGED) and not force:
            check_stale(cell.directory, cell.config)
        if cell.state in FINISHED and not force:
            check_data(cell.directory, cell.config)
