"""The data of a plan: what is missing is said once and nothing starts, what is downloaded is downloaded once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from in_process import InProcess

from normexp.config import compose
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.images import idx_images
from normexp.errors import Unavailable
from normexp.sweeps.prefetch import prefetch, to_download

TINY = ("model=linear", "batch_size=10", "steps=2", "device=cpu", "threads=1", "jobs=1")
FEW = ("dataset.validation=10",)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("NORMEXP_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def sweep(cli, results, workers_here) -> Callable[..., tuple[int, list[str]]]:
    """Run `normexp sweep` with its workers in this process: sweep("seed=0,1") -> (exit status, lines of stderr)."""

    def call(*arguments: object) -> tuple[int, list[str]]:
        status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", *arguments)
        return status, stderr.splitlines()

    return call


@pytest.fixture
def network(tmp_path, monkeypatch) -> list[str]:
    """A network that offers MNIST's files, without content; returns the names of those that were asked for."""
    asked: list[str] = []

    def download(remote, place: Path) -> Path:
        asked.append(remote.name)
        place.mkdir(parents=True, exist_ok=True)
        (place / remote.name).write_bytes(b"")
        return place / remote.name

    images, labels = np.zeros((40, 4, 4, 1), np.uint8), np.arange(40) % 10
    content = Content({"train_x": images, "train_y": labels, "test_x": images, "test_y": labels}, tuple("0123456789"))
    monkeypatch.setattr(idx_images, "fetch", download)
    monkeypatch.setattr(idx_images, "build", lambda *_: content)
    return asked


MISSING = {
    "archive": (["dataset=cifar10", "dataset.archive=/nowhere"], "dataset.archive=/nowhere: no such file or folder"),
    "idx files": (["dataset=mnist", "dataset.archive=/nowhere"], "dataset.archive=/nowhere: no such folder (with"),
    "stories": (
        ["dataset=babi", "inputs=none", "model=attentive_reader", "dataset.archive=/nowhere"],
        "dataset.archive=/nowhere: no such file or folder",
    ),
    "corpus": (
        ["dataset=cloze", "inputs=none", "model=attentive_reader", "dataset.path=/nowhere"],
        "dataset.path=/nowhere: no such file or folder; the CNN questions",
    ),
    "table": (["dataset=csv", "dataset.file=/nowhere.csv"], "dataset.file=/nowhere.csv: no such file"),
    "no table": (["dataset=csv"], "dataset.file is not set"),
    "images": (["dataset=image_folder", "dataset.path=/nowhere"], "dataset.path=/nowhere: no such file or folder"),
    "houses": (["dataset=house_prices", "dataset.source=sindian"], "no real_estate_valuation.csv in"),
    "given houses": (
        ["dataset=house_prices", "dataset.source=california", "dataset.file=/nowhere.csv"],
        "dataset.file=/nowhere.csv: no such file",
    ),
}


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]], ids=["run", "dry run"])
@pytest.mark.parametrize(("overrides", "message"), MISSING.values(), ids=MISSING)
def test_sweep_without_its_data_is_one_line(sweep, results, own_cache, overrides, message, dry_run):
    status, lines = sweep(*overrides, "seed=range(5)", *dry_run)
    assert (status, len(lines)) == (2, 1)
    assert message in lines[0]
    assert not results.exists()
    assert not own_cache.exists()


def test_sweep_over_several_data_sets_has_a_line_for_each_that_is_missing(sweep, results):
    status, lines = sweep("dataset=cifar10,mnist", "seed=0,1", "dataset.archive=/nowhere")
    assert (status, len(lines)) == (2, 2)
    assert not results.exists()


def test_data_that_are_there_start_nothing_where_others_are_missing(sweep, results, network):
    status, lines = sweep("dataset=mnist", *FEW, "dataset.archive=null,/nowhere")
    assert (status, len(lines), network) == (2, 1, [])  # nor is anything downloaded
    assert not results.exists()


def test_sweep_downloads_once_and_before_its_workers(sweep, network, monkeypatch):
    request = InProcess.request
    monkeypatch.setattr(
        InProcess, "request", lambda *given: request(*given) if len(network) == 4 else pytest.fail("too early")
    )
    assert sweep("dataset=mnist", *FEW, "seed=0,1", "dataset.subset=null,20")[0] == 0
    assert len(network) == len(set(network)) == 4
    shutil.rmtree(cache.folder() / "downloads")
    assert sweep("dataset=mnist", *FEW, "seed=2,3")[0] == 0
    assert len(network) == 4


def test_dry_run_downloads_nothing_and_says_what_would_be(sweep, network, own_cache):
    status, lines = sweep("dataset=mnist,digits", *FEW, "seed=0,1", "--dry-run")
    assert (status, network, own_cache.exists()) == (0, [], False)
    assert lines[-1] == "normexp: how long it takes is not known before dataset=mnist is downloaded"


def test_sweep_that_cannot_download_is_one_line(sweep, results, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: (_ for _ in ()).throw(OSError("no network")))
    status, lines = sweep("dataset=mnist", "seed=range(5)")
    assert (status, len(lines)) == (2, 1)
    assert "cannot download train-images-idx3-ubyte.gz" in lines[0]
    assert not results.exists()


def test_finished_cells_need_no_data(sweep, network):
    assert sweep("dataset=mnist", *FEW, "seed=0,1")[0] == 0
    shutil.rmtree(cache.folder())
    assert sweep("dataset=mnist", *FEW, "seed=0,1")[0] == 0
    assert len(network) == 4
    assert sweep("dataset=mnist", *FEW, "seed=0,1", "--force")[0] == 0
    assert len(network) == 8


def test_generated_data_are_not_made_to_be_looked_for(monkeypatch):
    monkeypatch.setattr("normexp.data.adding.Adding.read", lambda *_: pytest.fail("read"))
    config = compose(["dataset=adding", "inputs=none", "model=lstm_classifier"])
    assert to_download([config]) == []
    prefetch([config])


def test_fetch_says_all_that_cannot_be_had(monkeypatch):
    configs = [compose(["dataset=mnist", f"dataset.archive={place}"]) for place in ("/a", "/b", "/a")]
    with pytest.raises(Unavailable) as caught:
        prefetch(configs)
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "dataset.archive=/a",
        "dataset.archive=/b",
    ]


# --- Experiments. ---


@pytest.fixture
def reproduce(cli, results, workers_here) -> Callable[..., tuple[int, list[str]]]:
    def call(*arguments: object) -> tuple[int, list[str]]:
        status, _, stderr = cli("reproduce", *arguments, f"results_dir={results}", "jobs=1")
        return status, stderr.splitlines()

    return call


@pytest.mark.parametrize("name", ["cooijmans2017_sequential_mnist", "ioffe2015_figure1"])
def test_reproduce_without_its_data_is_one_line(reproduce, results, name):
    status, lines = reproduce(name, "scale=cpu", "dataset.archive=/nowhere")
    assert (status, len(lines)) == (2, 1)
    assert "dataset.archive=/nowhere: no such file or folder" in lines[0]
    assert not results.exists()


def test_reproduce_of_several_leaves_out_the_one_without_data(reproduce, results, monkeypatch):
    monkeypatch.setattr("normexp.report.commands.reproduce._show", lambda *_: None)
    status, lines = reproduce("ba2016_figure2", "ferreira2024_batch_layer_example", "scale=paper")
    assert status == 2
    assert lines[0].startswith("normexp: ba2016_figure2: left out: dataset.path=cnn/questions: no such file")
    assert [path.name for path in results.iterdir()] == ["ferreira2024_batch_layer_example"]
