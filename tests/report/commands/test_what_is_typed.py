"""What is typed beside the name of an experiment counts, or is refused before anything is read or drawn."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawn import made
from fabricated import Fabric

from normexp.errors import UserError
from normexp.experiments.grids import Selection
from normexp.report.commands.experiments import figures_to
from normexp.report.commands.reproduce import _check_typed, reproduce_all

SEARCH = Selection(search={"precision": ["fp32", "bf16"]}, seeds=[100], metric="validation/accuracy")
VARIED: dict[str, dict[str, Any]] = {
    "select.search": {"select": SEARCH},
    "grid": {"grid": {"precision": ["fp32", "bf16"], "seed": [0]}},
    "arms.Plain": {"arms": {"Plain": {"precision": "fp32"}}},
}


@pytest.mark.parametrize("place", VARIED)
def test_what_the_experiment_varies_is_not_typed(fabricate: Fabric, place: str) -> None:
    """A search went over both all the same."""
    experiment = replace(made(fabricate).experiment, **VARIED[place])
    with pytest.raises(
        UserError, match=rf"^precision=bf16: x has {place}\.precision, which would count; leave it out$"
    ):
        _check_typed(experiment, {"precision": "bf16"})


def test_a_setting_of_runs_belongs_into_the_file() -> None:
    asked = dict.fromkeys(("everything", "dry_run", "force", "plan_only", "of_laws"), False)
    with pytest.raises(
        UserError, match=r"^optim\.lr=0\.1: the runs .*; change optim\.lr in a copy of it, and `normexp"
    ):
        reproduce_all(["which_norm", "optim.lr=0.1"], arm=None, jobs=None, **asked)


@pytest.mark.parametrize("inside", ["", "which_norm", "which_norm/desk"])
def test_a_file_in_the_place_of_figures_is_seen_before_any_is_drawn(tmp_path: Path, inside: str) -> None:
    (tmp_path / "results" / "which_norm" / "desk").mkdir(parents=True)
    taken = tmp_path / "out" / inside
    taken.parent.mkdir(parents=True, exist_ok=True)
    taken.write_text("")
    words = ["which_norm", f"results_dir={tmp_path / 'results'}"]
    with pytest.raises(UserError, match=f"^--out: {taken} is a file, not a folder$"):
        list(figures_to(str(tmp_path / "out"), words, [], "page", None))
