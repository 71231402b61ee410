"""docs/drift.md is what results/drift.csv makes, and that table has every experiment with records."""

from pathlib import Path

import make_drift as drift

from normexp.config.options import load_yaml
from normexp.report.commands.named import recorded
from normexp.verify.drift_table import read_table
from tests.documents.evidence import RESULTS, TOP


def test_the_page_is_that_of_the_table():
    assert drift.DOCUMENT.read_text(encoding="utf-8") == drift.document(), "run python scripts/make_drift.py"


def is_trained(folder: Path) -> bool:
    """Tell whether the experiment has minutes: it gets them with its whole first look (test_own_experiment)."""
    name, scale = folder.parts[-2:]
    return scale in load_yaml(TOP / "configs" / "experiment" / f"{name}.yaml").get("minutes", {})


def test_every_experiment_with_records_was_tried():
    rows = read_table(drift.TABLE)
    there = {folder.parts[-2:] for folder in recorded([], {"results_dir": str(RESULTS)}) if is_trained(folder)}
    missing = there - set(zip(rows["experiment"], rows["scale"], strict=True))
    assert not missing, f"run normexp verify drift {' '.join(sorted(name for name, _ in missing))} --csv {drift.TABLE}"


def test_a_row_says_what_moved_and_why(tmp_path):
    table = tmp_path / "drift.csv"
    table.write_text(
        "experiment,scale,run,verdict,column,step,before,now,relative,why,commit\n"
        "a,cpu,runs/x/seed=1,equal bytes,,,,,,,0123456789ab\n"
        "b,cpu,runs/y/seed=1,moved,test/loss,7,1.0,1.5,0.5,torch 1 -> 2,0123456789ab\n"
    )
    page = drift.document(table)
    assert "at 01234567\nand compared with its committed record: 1 equal bytes, 1 moved." in page
    assert "| b, cpu | `runs/y/seed=1` | moved | test/loss at step 7: 1.0, now 1.5 | 5.0e-01 | 1 |" in page
    assert page.endswith("1. torch 1 -> 2\n")
