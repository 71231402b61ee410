"""Records on a file system that nobody may write: what has ended is shown, what would train is one line."""

import subprocess
from pathlib import Path

import pytest
from in_process import InProcess

TINY = "model=linear steps=2 threads=1 recipe=none"
ENDED = (  # whether it says that there is no figure
    (f"run {TINY} --quiet", False),
    (f"run {TINY}", True),
    ("run study=normprop_constants", False),
    (f"sweep {TINY} seed=0,1", False),
    (f"sweep {TINY} sampler=random trials=1 optim.lr=interval(0.01,0.1)", False),
)


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory):
    """A results folder with what ENDED trains, mounted read-only. Skips where nothing may be mounted."""
    from normexp.cli.verbs import main

    place = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normexp.sweeps.workers.Worker", InProcess)
        assert [main([*typed.split(), f"results_dir={place}"]) for typed, figure in ENDED if not figure] == [0] * 4
    mounted = subprocess.run(["mount", "--bind", place, place], capture_output=True).returncode == 0
    if not mounted or subprocess.run(["mount", "-o", "remount,ro,bind", place], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize(("typed", "figure"), ENDED)
def test_what_has_ended_is_shown(read_only: Path, cli, typed, figure):
    status, stdout, stderr = cli(*typed.split(), f"results_dir={read_only}")
    assert status == 0, stderr
    assert "no figure" not in stdout or "cannot be written (Read-only file system)" in stdout
    assert ("no figure: " in stdout) == figure


@pytest.mark.parametrize("more", ["run --force", "run seed=5", "sweep seed=0,1,2", "sweep seed=0 --force"])
def test_what_would_train_is_one_line(read_only: Path, cli, more):
    status, stdout, stderr = cli(*more.split(), *TINY.split(), f"results_dir={read_only}")
    assert (status, stdout) == (2, "")
    assert f"{read_only}/runs" in stderr
    assert stderr.endswith(" is not writable; choose another results_dir\n")
    assert stderr.count("\n") == 1


def test_curves_that_cannot_be_beside_the_runs_want_another_place(read_only: Path, cli):
    status, stdout, stderr = cli("plot", str(read_only / "runs"))
    assert (status, stdout) == (2, "")
    assert stderr == f"normexp: --out: {read_only}/runs is not writable; choose another --out\n"
