"""The data set of the user's own: by what of it two runs are the same run."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from normexp.config import compose
from normexp.data.base import Data, Dataset, Split
from normexp.data.loading import Loader, content_of
from normexp.runs.place import default_run_dir


@dataclass(frozen=True, kw_only=True)
class Table(Dataset):
    """Reads its file from a folder that it knows itself, or that is given."""

    drawn = False

    file: str | tuple[str, ...] | None = None
    root: str = "."
    table: str = "tables/usual.csv"
    tables: tuple[str, ...] = ()

    def read(self, seed):
        x = np.loadtxt(self.table, delimiter=",", dtype=np.float32)
        split = Split(x, np.arange(len(x)) % 2)
        return Data(split, split, split, "classification", ("a", "b"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tables").mkdir()
    return tmp_path


def composed(*words):
    return compose(["dataset=test_own_content.Table", "plugins=[test_own_content]", "model=mlp", *words])


def run_of(*words):
    return default_run_dir(composed(*words)).name


@pytest.mark.parametrize("root", [[], ["dataset.root=tables"]], ids=["", "root"])
def test_a_file_that_only_the_class_can_find_counts_by_its_text(root):
    for name in ("easy", "hard"):
        Path("tables", name).write_text(name)
    easy, hard = (run_of(*root, f"dataset.file={name}") for name in ("easy", "hard"))
    assert easy != hard != run_of(*root)
    assert easy == run_of(*root, "dataset.file=easy")


def test_a_file_that_is_there_counts_by_its_content_alone():
    for name in ("one.csv", "same.csv", "tables/other.csv"):
        Path(name).write_text(name if "other" in name else "1")
    one, same, other = (run_of(f"dataset.file={name}") for name in ("one.csv", "same.csv", "tables/other.csv"))
    assert other != one == same


def test_the_identity_of_given_files_is_what_it_was():
    Path("table.csv").write_text("1,2")
    known = "39a694c05291e84d7143d995195699437d20cf8b296c0283bc3bd6b4c7090673"
    assert content_of(composed("dataset.table=table.csv")) == known
    assert content_of(composed("dataset.table=nowhere.csv")) == ""


@pytest.mark.parametrize("words", [[], ["dataset.tables=[tables/a.csv]"], ["dataset.file=[tables/a.csv]"]], ids=str)
def test_a_file_of_a_default_or_in_a_list_counts_by_its_content(words):
    for name in ("a", "usual"):
        Path(f"tables/{name}.csv").write_text("1")
    before = run_of(*words)
    Path("tables/a.csv" if words else "tables/usual.csv").write_text("2")
    assert run_of(*words) != before


@pytest.mark.parametrize("words", [[], ["dataset.root=."]], ids=["default", "given"])
def test_a_folder_that_holds_the_runs_is_no_data(words):
    before = run_of(*words)
    Path("results/runs").mkdir(parents=True)
    Path("results/runs/metrics.csv").write_text("1")
    assert run_of(*words) == before


def test_data_that_changed_are_read_again():
    last, path = Loader().load, Path("tables/usual.csv")
    path.write_text("1,2\n3,4")
    first = last(composed())
    assert last(composed("seed=1")) is first
    path.write_text("5,6\n7,8")
    assert last(composed()).fingerprint != first.fingerprint


@pytest.mark.parametrize("value", ["[tables/usual.csv]", "easy"])
def test_a_run_on_files_by_list_or_text_is_read_back(cli, value):
    Path("tables/usual.csv").write_text("1,2\n3,4")
    tiny = ["plugins=[test_own_content]", "steps=1", "batch_size=2", "threads=1", "--quiet"]
    words = ["dataset=test_own_content.Table", "model=linear", f"dataset.file={value}"]
    status, stdout, stderr = cli("run", *words, *tiny)
    assert status == 0, stderr
    assert cli("table", stdout.strip())[2] == ""
    if value == "easy":
        assert cli("run", "--like", stdout.strip(), *tiny[:1], "--quiet")[1] == stdout
