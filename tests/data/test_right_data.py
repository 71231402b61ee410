"""A finished run is never returned for other data, whatever their file is called; and is for the same, wherever."""

import json
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made_idx import idx_bytes
from PIL import Image

from normexp.config import compose
from normexp.config.recipe import with_recipe
from normexp.records import find_runs
from normexp.runs.place import default_run_dir, with_content

TINY = ("steps=2", "batch_size=4", "device=cpu", "threads=1", "model=linear")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None) -> None:
    monkeypatch.setenv("NORMEXP_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def table(path: Path, slope: float = 2, names: str = "size,price") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{x},{slope * x % 7}\n" for x in range(40))
    path.write_text(f"{names}\n{rows}", encoding="utf-8")
    return path


def pictures(path: Path, bright: int) -> Path:
    for split in ("train", "test"):
        for kind in ("cat", "dog"):
            for number in range(4):
                file = path / split / kind / f"{number}.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                Image.new("L", (8, 8), bright + number).save(file)
    return path


@pytest.fixture
def run(cli, results: Path) -> Callable[..., tuple[str, Path]]:
    """Run on files of the user: run("dataset=csv", ...) -> (standard error, run directory)."""

    def call(*words: str) -> tuple[str, Path]:
        status, stdout, stderr = cli("run", *TINY, f"results_dir={results}", *words)
        assert status == 0, stderr
        return stderr, Path(stdout.splitlines()[-1])

    return call


def csv(path: Path | str) -> tuple[str, ...]:
    return "dataset=csv", f"dataset.file={path}", "dataset.target=price"


KINDS = {
    "csv": (lambda path: csv(path / "my.csv"), lambda path, value: table(path / "my.csv", value)),
    "images": (
        lambda path: ("dataset=image_folder", f"dataset.path={path / 'imgs'}", "dataset.channels=1"),
        lambda path, value: pictures(path / "imgs", value),
    ),
    "house prices": (
        lambda path: (
            "dataset=house_prices",
            "dataset.source=sindian",
            f"dataset.file={path / 'h.csv'}",
            "dataset.test=5",
            "dataset.validation=5",
        ),
        lambda path, value: table(path / "h.csv", value, "X2 house age,Y house price of unit area"),
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable, Callable]:
    """One kind of data: (words of the command for a folder, write it with a value into a folder)."""
    return KINDS[request.param]


def test_same_name_in_another_folder_is_another_run(kind, run, tmp_path: Path) -> None:
    words, write = kind
    write(tmp_path / "a", 2)
    write(tmp_path / "b", 3)
    _, first = run(*words(tmp_path / "a"))
    said, second = run(*words(tmp_path / "b"))
    assert second != first
    assert f"other content than when {first.name} was trained" in said


def test_edited_data_train_again_and_say_why(kind, run, tmp_path: Path) -> None:
    words, write = kind
    write(tmp_path / "a", 2)
    _, first = run(*words(tmp_path / "a"))
    write(tmp_path / "a", 3)
    said, second = run(*words(tmp_path / "a"))
    assert second != first
    assert f"other content than when {first.name} was trained" in said
    write(tmp_path / "a", 2)
    assert "done already" in run(*words(tmp_path / "a"))[0]


def test_moved_data_are_the_same_run(kind, run, tmp_path: Path) -> None:
    words, write = kind
    write(tmp_path / "a", 2)
    _, first = run(*words(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "elsewhere")
    said, second = run(*words(tmp_path / "elsewhere"))
    assert (second, "done already" in said) == (first, True)


def test_renamed_file_is_the_same_run(run, tmp_path: Path) -> None:
    _, first = run(*csv(table(tmp_path / "a.csv")))
    said, second = run(*csv((tmp_path / "a.csv").rename(tmp_path / "b.csv")))
    assert (second, "done already" in said) == (first, True)


def test_two_paths_of_one_name_in_a_sweep_are_two_cells(cli, results, tmp_path, workers_here) -> None:
    one, other = table(tmp_path / "a" / "my.csv"), table(tmp_path / "b" / "my.csv", 3)
    words = (*TINY, "dataset=csv", f"dataset.file={one},{other}", "dataset.target=price", f"results_dir={results}")
    status, _, stderr = cli("sweep", *words, "jobs=1")
    assert (status, "2 runs" in stderr) == (0, True)
    hashes = {run.environment["data"]["sha256"] for run in find_runs([results])}
    assert len(hashes) == 2
    _, table_of_both, _ = cli("table", results, "--format", "csv")
    assert all(f"dataset.file=my.csv ({sha256[:8]})" in table_of_both for sha256 in hashes)


def test_command_of_a_record_can_be_pasted(run, tmp_path: Path) -> None:
    table(tmp_path / "my data" / "größe.csv")
    _, first = run(*csv("'my data/größe.csv'"))
    header = (first / "config.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert shlex.split(header)[:3] == ["#", "normexp", "run"]
    assert default_run_dir(compose(with_recipe(shlex.split(header)[3:]))) == first
    assert "done already" in run(*csv(f"'{tmp_path}/my data/größe.csv'"))[0]


def as_recorded_earlier(directory: Path, config) -> Path:
    """Rewrite a record as version 0.1 did: named by the file's name, without its content."""
    environment = json.loads((directory / "environment.json").read_text())
    del environment["data"]["content"]
    (directory / "environment.json").write_text(json.dumps(environment))
    status = json.loads((directory / "status.json").read_text())
    status.pop("sha256", None)
    (directory / "status.json").write_text(json.dumps(status))
    for sums in directory.glob("*sums*"):
        sums.unlink()
    return directory.rename(directory.with_name(config.name))


def test_record_from_before_is_used_for_the_same_data_only(run, results, tmp_path: Path) -> None:
    path = table(tmp_path / "my.csv")
    config = compose(with_recipe([*TINY, *csv(path), f"results_dir={results}"]))
    _, first = run(*csv(path))
    assert first.name != config.name  # which knows no content
    earlier = as_recorded_earlier(first, config)
    said, second = run(*csv(path))
    assert (second, "done already (step 2); --force trains it again" in said) == (earlier, True)
    table(path, 3)
    said, second = run(*csv(path))
    assert second != earlier
    assert "other content than when" in said


def test_published_files_are_the_data_set_itself(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from normexp.data.mnist import Mnist

    small = tmp_path / "raw"
    write_mnist(small)
    monkeypatch.setattr(Mnist, "published", Mnist(archive=str(small)).content())
    monkeypatch.setattr("normexp.data.images.idx_images.remotes", no_network)
    words = ("dataset=mnist", "dataset.validation=2")
    _, first = run(*words, f"dataset.archive={small}")
    shutil.rmtree(small)
    said, second = run(*words)  # from the cache that the copy made
    assert (second, "done already" in said) == (first, True)
    shutil.rmtree(first)
    assert run(*words)[1] == first


def test_other_copy_in_the_cache_is_used_and_said(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tmp_path / "raw"
    write_mnist(small)
    monkeypatch.setattr("normexp.data.images.idx_images.remotes", no_network)
    words = ("dataset=mnist", "dataset.validation=2", "seed=1")
    _, first = run("dataset=mnist", "dataset.validation=2", f"dataset.archive={small}", "seed=1")
    said, second = run(*words, "--force")
    assert second == first  # the same data
    assert f"dataset=mnist: the copy that was decoded from {small}" in said


def no_network(name: str) -> list[object]:
    raise AssertionError("asked the network")


def write_mnist(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for split, count in (("train", 40), ("t10k", 20)):
        for kind, array in (
            ("images-idx3", rng.integers(0, 256, (count, 8, 8))),
            ("labels-idx1", np.arange(count) % 10),
        ):
            (folder / f"{split}-{kind}-ubyte").write_bytes(idx_bytes(array))


def test_content_is_cheap_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from normexp.data.files import content

    path = table(tmp_path / "my.csv")
    monkeypatch.setattr(content, "SETTLED", 0.0)
    config = compose(["model=linear", *csv(path)])
    first = with_content(config)
    monkeypatch.setattr(content.hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert with_content(config) == first


def test_an_edit_under_the_old_size_and_time_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by an editor, or `rsync -t`, that sets the time of modification back."""
    monkeypatch.setattr("normexp.data.files.content.SETTLED", 0.0)
    path = table(tmp_path / "my.csv", 2)
    config, stat = compose(["model=linear", *csv(path)]), path.stat()
    first = with_content(config).content
    path.write_text(path.read_text().replace("39,1\n", "39,2\n"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert with_content(config).content != first


def test_content_of_a_file_that_was_just_written_is_not_remembered(tmp_path: Path) -> None:
    """Two writes within one tick of the file system's clock, of equal length, leave size and time as they were."""
    path = table(tmp_path / "my.csv", 2)
    config, stat = compose(["model=linear", *csv(path)]), path.stat()
    first = with_content(config).content
    text = path.read_text().replace("39,1\n", "39,2\n")
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert with_content(config).content != first
