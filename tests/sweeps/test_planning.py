"""Planning takes time and memory in proportion to the cells."""

import json
import subprocess
import sys

import pytest

from normexp.config import compose
from normexp.records import RunDirectory
from normexp.sweeps.plan import Cell

PLANNING = """
import json, re, sys, time
from pathlib import Path
from normexp.sweeps.plan import make_plan
make_plan(["seed=0"])
began = time.process_time()
plan = make_plan(["model=mlp", "norm=batch,layer", f"seed=range({int(sys.argv[1]) // 2})", "results_dir=nowhere"])
kilobytes = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([len(plan.cells), time.process_time() - began, kilobytes]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_planning_grows_linearly_and_ten_thousand_cells_fit_into_500_mb(tmp_path):
    def plan(cells: int) -> tuple[float, float]:
        command = [sys.executable, "-c", PLANNING, str(cells)]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
        planned, seconds, kilobytes = json.loads(answer.stdout)
        assert planned == cells
        return seconds, kilobytes / 1000

    few, many = plan(2_500), plan(10_000)
    assert many[0] < 9 * few[0]  # 16 times where time grows with the square
    assert many[1] < 500
    assert not (tmp_path / "nowhere").exists()


def test_of_a_run_whose_status_has_no_steps_all_is_left(tmp_path):
    RunDirectory(tmp_path).write_status("interrupted", step=0, steps=0)
    assert Cell(compose(), tmp_path).left == 1.0
