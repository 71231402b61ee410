"""`normexp status`: from status.json alone."""

import json
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from normexp.records import RunDirectory
from normexp.sweeps.status import overview


def fabricate(path: Path, status: str, **facts: object) -> RunDirectory:
    path.mkdir(parents=True)
    (path / "status.json").write_text(json.dumps({"status": status, **facts}))
    return RunDirectory(path)


@pytest.fixture
def touched():
    """A context that notes every file that is opened and every folder that is listed, as often as it is."""
    noted: list[list[str]] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if noted and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | Path):
            noted[-1].append(str(arguments[0]))

    @contextmanager
    def notes():
        noted.append([])
        try:
            yield noted[-1]
        finally:
            noted.clear()

    sys.addaudithook(hook)
    return notes


def test_status_counts_and_names_what_is_not_finished(cli, tmp_path):
    for name, status in enumerate(["done", "done", "diverged", "interrupted"]):
        fabricate(tmp_path / str(name), status, step=5, steps=10)
    fabricate(tmp_path / "x", "failed", step=3, steps=10, cause="RuntimeError: no\nmemory")
    fabricate(tmp_path / "y", "failed", cause="the worker process was killed by SIGKILL")
    status, stdout, stderr = cli("status", tmp_path)
    assert (status, stderr) == (0, "")
    assert stdout.splitlines() == [
        "6 runs: 2 done, 1 diverged, 2 failed, 1 interrupted",
        f"  interrupted {tmp_path}/3  step 5/10",
        f"  failed      {tmp_path}/x  step 3/10 RuntimeError: no",
        f"  failed      {tmp_path}/y  the worker process was killed by SIGKILL",
    ]


def test_linked_folder_is_named_not_skipped_in_silence(cli, tmp_path):
    fabricate(tmp_path / "here" / "one", "done", step=5, steps=10)
    fabricate(tmp_path / "disk" / "two", "done", step=5, steps=10)
    (tmp_path / "here" / "more").symlink_to(tmp_path / "disk")
    status, stdout, _ = cli("status", tmp_path / "here")
    assert (status, stdout.splitlines()[0]) == (0, "1 run: 1 done")
    unseen = f"{tmp_path}/here/more: links are not followed"
    assert f"  not looked into: {unseen}" in stdout
    (line,) = json.loads(cli("status", tmp_path / "here", "--json")[1])["not_looked_into"]
    assert line.startswith(unseen)


def test_status_running_run_whose_process_is_gone_is_stopped(tmp_path):
    run = fabricate(tmp_path / "run", "running", step=5, steps=10)
    with run.lock():
        assert overview(tmp_path).startswith("1 run: 1 running\n")
    assert overview(tmp_path).startswith("1 run: 1 stopped\n")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"status": "dnoe"}'])
def test_status_names_what_is_damaged(tmp_path, content):
    fabricate(tmp_path / "fine", "done")
    fabricate(tmp_path / "run", "done").path.joinpath("status.json").write_text(content)
    summary, line = overview(tmp_path).splitlines()
    assert summary == "2 runs: 1 done, 1 damaged"
    assert line.startswith(f"  damaged     {tmp_path}/run  {tmp_path}/run/status.json: damaged (")


def test_status_reads_one_file_of_a_run_and_asks_for_its_lock_where_it_may_be_running(tmp_path, touched):
    for place in range(50):
        run = fabricate(tmp_path / f"{place:04}", "running" if place % 10 else "done", step=5, steps=10)
        for name in ("metrics.csv", "timing.csv", "config.yaml", ".lock"):
            (run.path / name).touch()
    with touched() as names:
        assert overview(tmp_path).startswith("50 runs: 5 done, 45 stopped\n")
    of_runs = Counter(Path(name).name for name in names if Path(name).parent.parent == tmp_path)
    assert of_runs == {"status.json": 50, ".lock": 45}
    assert max(Counter(names).values()) == 1
