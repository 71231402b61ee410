"""House prices that were paid: from a file, from the data folder, from scikit-learn's downloader."""

import urllib.error
from pathlib import Path

import numpy as np
import pytest
from one_line import assert_refused

from normexp.config import compose
from normexp.data.house_prices import HousePrices
from normexp.errors import UserError

CALIFORNIA = "income,total_bedrooms,median_house_value,ocean_proximity\n" + "".join(
    f"{n},{'' if n == 3 else 2 * n},{1000 * n},{'INLAND' if n % 2 else 'ISLAND'}\n" for n in range(1, 13)
)
SINDIAN = "No,X2 house age,Y house price of unit area\n1,30,40\n2,10,50\n3,20,45\n4,5,60\n"
SMALL = {"test": 2, "validation": 1, "standardize_target": False}


def test_california_prices_are_in_1000s_of_usd_beside_their_own_inputs(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(CALIFORNIA)
    data = HousePrices(source="california", file=str(tmp_path / "mine.csv"), **SMALL).load(0)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [8, 1, 2]
    for split in (data.train, data.validation, data.test):
        np.testing.assert_allclose(split.y[:, 0], split.x[:, 0], rtol=1e-6)
        np.testing.assert_array_equal(split.x[:, 2], split.x[:, 0] % 2)
    assert data.note == "California housing; 1 of 12 rows without total_bedrooms dropped"


def test_california_file_in_the_data_folder_is_found(cache_folder: Path) -> None:
    cache_folder.mkdir()
    (cache_folder / "california_housing.csv").write_text(CALIFORNIA)
    assert len(HousePrices(source="california", **SMALL).load(0).test) == 2


@pytest.mark.parametrize(
    ("column", "value", "keys"),
    [
        ("total_bedrooms", "room {n}", "dataset.features is a key"),
        ("median_house_value", "7", "dataset.target is a key"),
        ("median_house_value", "dear", "dataset.target and dataset.task are keys"),
    ],
)
def test_a_bad_column_is_refused_with_keys_that_another_data_set_has(
    tmp_path: Path, column: str, value: str, keys: str
) -> None:
    """They were named for this data set, which has none of these names; that of a file is no key."""
    rows = [{"income": n, "total_bedrooms": 2 * n, "median_house_value": n} for n in range(200)]
    rows = [row | {column: value.format(n=n)} for n, row in enumerate(rows)]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "dataset.task.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=rf" \({keys} of dataset=csv, which reads any table\)$"):
        HousePrices(source="california", file=str(tmp_path / "dataset.task.csv")).load(0)


def test_sindian_leaves_the_running_number_out(cache_folder: Path) -> None:
    cache_folder.mkdir()
    (cache_folder / "real_estate_valuation.csv").write_text(SINDIAN)
    data = HousePrices(source="sindian", **SMALL).load(0)
    assert data.input_shape == (1,)
    assert data.train.x.max() >= 5
    assert data.note == "Sindian houses"


def test_sindian_without_a_file_says_where_to_get_it() -> None:
    with pytest.raises(UserError, match=r"no real_estate_valuation\.csv in .*UCI's data set 477.*dataset\.file=PATH"):
        HousePrices(source="sindian").load(0)


def test_california_is_downloaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fetched(data_home: str, return_X_y: bool) -> tuple[np.ndarray, np.ndarray]:
        calls.append(data_home)
        return np.arange(80.0).reshape(10, 8), np.arange(10) / 10

    monkeypatch.setattr("sklearn.datasets.fetch_california_housing", fetched)
    first, again = (HousePrices(source="california", **SMALL).load(0) for _ in range(2))
    assert first.fingerprint == again.fingerprint
    np.testing.assert_allclose(first.train.y[:, 0], first.train.x[:, 0] / 8 * 10, rtol=1e-6)
    assert first.note == "California housing, scikit-learn's 8 columns"
    assert len(calls) == 1
    assert not Path(calls[0]).exists()


def test_california_without_a_network_says_what_to_do(monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    def fetched(**_: object) -> None:
        raise urllib.error.URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_california_housing", fetched)
    with pytest.raises(UserError, match=r"cannot download California housing \(.*no route.*dataset\.file=PATH"):
        HousePrices(source="california").load(0)
    assert not list(cache_folder.glob("*california*"))


@pytest.mark.parametrize("source", ["lecture", "synthetic"])
def test_file_of_a_source_without_file_is_refused(source: str) -> None:
    with pytest.raises(UserError, match=rf"dataset\.file=a\.csv: dataset\.source={source} has no file"):
        HousePrices(source=source, file="a.csv").load(0)


@pytest.mark.data
def test_california_has_the_rows_and_gaps_that_are_published(shared_data: Path) -> None:
    file = str(shared_data / "california_housing.csv")
    dropped, filled = (
        HousePrices(source="california", file=file, missing=way, standardize_target=False).load(0)
        for way in ("drop", "mean")
    )
    assert [sum(map(len, (data.train, data.validation, data.test))) for data in (dropped, filled)] == [20_433, 20_640]
    assert dropped.input_shape == (8 + 5,)
    assert "207 of 20,640 rows without total_bedrooms" in dropped.note
    assert "207 missing total_bedrooms" in filled.note
    assert np.isfinite(filled.train.x).all()
    assert filled.train.y.max() == pytest.approx(500.001)  # the authors capped prices here
    with pytest.raises(UserError, match=r"line 292, column 'total_bedrooms': no value \(207 in all\)"):
        HousePrices(source="california", file=file, missing="error").load(0)


@pytest.mark.data
def test_sindian_has_414_sales_of_six_features(shared_data: Path) -> None:
    data = HousePrices(source="sindian", file=str(shared_data / "real_estate_valuation.csv")).load(0)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [114, 100, 200]
    assert data.input_shape == (6,)


@pytest.mark.parametrize(
    "given", ["missing=mean", "source=lecture dataset.examples=9", "source=california dataset.noise=1.0"]
)
def test_what_a_source_does_nothing_with_is_refused(given: str) -> None:
    key = given.split()[-1].removeprefix("dataset.")
    assert_refused(["dataset=house_prices", "model=mlp", *f"dataset.{given}".split()], f"dataset.{key}", "leave it out")


def test_what_a_source_reads_is_taken() -> None:
    for given in (["source=california", "missing=mean"], ["examples=300"], ["source=sindian", "test=80"]):
        compose(["dataset=house_prices", "model=mlp", *(f"dataset.{one}" for one in given)])
