"""A damaged metrics.csv ends in one line that names the file, never in a plausible number."""

import math

import pytest
from fabricated import Fabric
from one_line import one_line_error

from normexp.errors import UserError
from normexp.records import METRICS
from normexp.report.commands.runs import plot_command, table_command
from normexp.report.frames.measurements import measurements


def test_blank_lines_are_no_rows(fabricate: Fabric) -> None:
    run = fabricate()
    before = measurements(run, run.status)
    (run.path / METRICS).write_text((run.path / METRICS).read_text() + "\n\n")
    assert measurements(run, run.status) == before


def test_columns_in_order_and_empty_cells_as_nan(fabricate: Fabric) -> None:
    run = fabricate(0.75)
    columns = measurements(run, run.status)
    assert columns["step"] == [0, 10, 20, 30]
    assert math.isnan(columns["train/loss"][0])
    assert columns["test/accuracy"][-1] == 0.75


HEADER = "step,epoch,test/accuracy\n"
DAMAGED = {
    "": "no step column",
    "epoch,test/accuracy\n1,0.5\n": "no step column",
    HEADER: "no rows",
    HEADER + "10,1,0.5\n": "ends at step 10",
    HEADER + "30,3,0.9": "cut off",
    HEADER + "30,3\n": "line 2 has 2 cells, not 3",
    HEADER + "30,3,0.5,1\n": "line 2 has 4 cells, not 3",
    HEADER + "30,3,x\n": "line 2: test/accuracy is 'x', not a number",
    HEADER + "30,3,0.5\n30,3,0.5\n": "repeated",
    HEADER + ",3,0.5\n": "missing",
}


@pytest.mark.parametrize(("content", "reason"), DAMAGED.items(), ids=DAMAGED.values())
def test_damage_names_the_file(fabricate: Fabric, content: str, reason: str) -> None:
    run = fabricate()
    (run.path / METRICS).write_text(content)
    for command in (plot_command, table_command):
        with one_line_error() as error:
            command([str(run.path)])
        assert str(run.path / METRICS) in str(error.value)
        assert reason in str(error.value)


def test_binary_and_missing_files_name_the_file(fabricate: Fabric) -> None:
    run = fabricate()
    (run.path / METRICS).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=METRICS):
        table_command([str(run.path)])
    (run.path / METRICS).unlink()
    with pytest.raises(UserError, match=METRICS):
        table_command([str(run.path)])


def test_an_unfinished_run_is_not_read(fabricate: Fabric) -> None:
    fabricate(norm="batch")
    run = fabricate(norm="batch", seed=1, status="running")
    (run.path / METRICS).write_text("half a ro")
    assert "batch seed 1 (stopped" in table_command([str(run.path.parent)])
