"""What `normexp run` shows at its end: the run beside its peers."""

import os
from pathlib import Path

import pytest
from fabricated import Fabric

from normexp.records import CONFIG, METRICS, STATUS, RunDirectory
from normexp.records.parsing import yaml_mapping
from normexp.report.commands.closing import compare
from normexp.report.frames.neighbours import latest, neighbours


def test_peers_differ_in_norm_and_seed_alone(fabricate: Fabric) -> None:
    run = fabricate(0.9, norm="batch")
    fabricate(0.8, norm="none", seed=1)
    fabricate(0.1, norm="layer", optim__lr=0.3)
    fabricate(0.1, norm="layer", model="mlp")
    fabricate(0.1, norm="layer", status="running")
    text = compare(run)
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
    assert rows[2:] == ["none", "batch"]
    assert text.endswith(f"figure: {run.path / 'curves.png'}")
    assert (run.path / "curves.svg").exists()


def test_a_run_is_its_own_peer_where_names_are_told_apart(fabricate: Fabric) -> None:
    """Files and networks of one name are named otherwise in a frame than in the run's own configuration."""
    fabricate(0.8, norm="none", model___target_="her_nets.Net")
    run = fabricate(0.9, norm="batch", model___target_="my_nets.Net")
    assert "| batch |" in compare(run)
    file = {"dataset": "csv", "dataset__file": "h.csv"}
    fabricate(0.8, norm="none", **file, sha256="0123456789ab")
    assert "| batch |" in compare(fabricate(0.9, norm="batch", **file, sha256="cdef01234567"))


@pytest.mark.parametrize("way", ["a relative path", "a link"])
def test_a_run_finds_itself_whatever_leads_to_it(fabricate: Fabric, tmp_path: Path, monkeypatch, way: str) -> None:
    oldest = fabricate(0.9, norm="batch")
    os.utime(oldest.path / STATUS, (1, 1))
    fabricate(0.8, norm="none", seed=1)
    fabricate(0.8, norm="none", seed=2)
    monkeypatch.setattr("normexp.report.frames.neighbours.MOST", 2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.symlink_to(oldest.path.parent)
    monkeypatch.chdir(oldest.path.parent)
    given = Path(oldest.path.name) if way == "a relative path" else elsewhere / oldest.path.name
    text = compare(RunDirectory(given))
    assert "| batch |" in text
    assert "| none " in text
    assert text.endswith(f"figure: {given / 'curves.png'}")


def test_neighbours_of_other_settings_are_not_parsed(fabricate: Fabric, monkeypatch) -> None:
    """Ten thousand runs in a folder must not make the next one slower."""
    runs = {word: fabricate(norm="none") for word in ("norm=batch", "norm=none seed=1", "optim.lr=0.3", "epochs=9")}
    for word, run in runs.items():
        path = run.path / CONFIG
        path.write_text(f"# normexp run {word}\n{path.read_text()}")
    parsed = []
    whole = yaml_mapping
    monkeypatch.setattr("normexp.records.run.yaml_mapping", lambda data: parsed.append(data) or whole(data))
    found = neighbours(RunDirectory(runs["norm=batch"].path))
    assert [run.path for run in found] == [runs["norm=batch"].path, runs["norm=none seed=1"].path]
    assert not parsed
    assert len(neighbours(RunDirectory(runs["epochs=9"].path))) == 1


def test_runs_of_one_folder_are_neighbours_whatever_paths_led_to_it_and_to_the_data(fabricate: Fabric) -> None:
    places = {
        "none": "'results_dir=\"my runs\"' dataset.file=a.csv",
        "batch": "'results_dir=\"/my data/my runs\"' dataset.file=../a.csv",
    }
    runs = [fabricate(norm=norm, dataset__file="a.csv") for norm in places]
    for run, (norm, words) in zip(runs, places.items(), strict=True):
        path = run.path / CONFIG
        path.write_text(f"# normexp run recipe=none norm={norm} {words}\n{path.read_text()}")
    assert [run.path for run in neighbours(runs[1])] == [run.path for run in runs]
    assert "| none " in compare(runs[1])


def test_of_many_neighbours_the_latest_are_compared(tmp_path: Path, monkeypatch) -> None:
    fabricate = Fabric(tmp_path / "of a friend")
    runs = [fabricate(norm="none", seed=seed) for seed in range(5)]
    for age, run in enumerate(runs):
        os.utime(run.path / "status.json", (age, age))
    monkeypatch.setattr("normexp.report.frames.neighbours.MOST", 3)
    text = compare(RunDirectory(runs[0].path))
    assert "3/3" in text
    assert f"- 2 older runs; `normexp table '{runs[0].path.parent}'` reads all" in text
    assert [run.path for run in latest(runs, runs[0])] == [run.path for run in (runs[0], *runs[3:])]


def test_a_damaged_neighbour_is_named_and_does_no_harm(fabricate: Fabric) -> None:
    run, torn, broken = (fabricate(norm=norm) for norm in ("batch", "none", "layer"))
    (torn.path / METRICS).write_text("step,epoch")
    (broken.path / STATUS).write_text("{")
    text = compare(run)
    assert "Left out, 2 that cannot be used: " in text
    assert f"{torn.path.name} ({METRICS}: damaged" in text
    assert f"{broken.path.name} ({STATUS}: damaged" in text
    assert "| batch" in text
