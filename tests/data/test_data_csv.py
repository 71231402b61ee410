"""dataset=csv: columns to examples, gaps, splits."""

import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from one_line import one_line_error

from normexp.data.base import Data
from normexp.data.csv_file import CsvFile
from normexp.data.inputs import ZCA, Binarize, Center, Identity, MinMax, Standardize
from normexp.data.tables import csv_table, table
from normexp.errors import UserError
from normexp.records.forms import MOST_CHARACTERS

ROWS = "size,town,rooms,price\n" + "".join(f"{n},{'XYZ'[n % 3]},{n % 4},{10 * n}\n" for n in range(30))
GAPS = "a,town,y\n1,X,1\n,X,2\n3,,3\n5,Y,4\n7,Y,\n9,Z,6\n"
PLAIN = {"validation": 0, "test": 1, "standardize_target": False}


@pytest.fixture
def csv(tmp_path: Path):
    """Return the data set of a text."""

    def make(content: str, **options) -> CsvFile:
        path = tmp_path / "own.csv"
        path.write_text(content)
        return CsvFile(file=str(path), **options)

    return make


def rows(data: Data) -> np.ndarray:
    """Return all examples, x and y side by side."""
    splits = (data.train, data.validation, data.test)
    return np.concatenate([np.column_stack([split.x, split.y]) for split in splits])


def test_csv_says_how_it_took_what_is_no_plain_number(csv) -> None:
    content = 'day,size,y\n1 May,"1,003",1\n2 May,850,2\n,900,"3,000"\n'
    data = csv(content, target="y", missing="drop", **PLAIN).load(0)
    assert data.note == (
        "day has '1 May', taken as words; size has '1,003', taken as numbers (here 1003); "
        "write quantities as plain numbers; y has '3,000', taken as numbers (here 3000); "
        "1 of 3 rows without day dropped"
    )
    assert csv("code,y\nc0,1\nc1,2\n", target="y", **PLAIN).load(0).note == "code has 'c0', taken as words"
    assert csv(content, target="y", features=("size",), task="classification", **PLAIN).load(0).classes[-1] == "3000"


def test_csv_of_many_megabytes_says_that_it_is_read(csv, caplog, monkeypatch) -> None:
    caplog.set_level("INFO", "normexp")
    dataset = csv(ROWS, target="price")
    dataset.load(0)
    assert not any("reading" in line for line in caplog.messages)
    monkeypatch.setattr(csv_table, "LONG", 100)
    dataset.load(0)
    assert f"{dataset.file}: reading 0 MB" in caplog.messages


def test_csv_words_become_indicators_in_alphabetical_order(csv) -> None:
    data = csv("town,price,size\nY,1,7\nX,2,8\nZ,3,9\nX,4,7\n", target="price", **PLAIN).load(0)
    found = rows(data)
    np.testing.assert_array_equal(
        found[np.argsort(found[:, -1])],
        [[0, 1, 0, 7, 1], [1, 0, 0, 8, 2], [0, 0, 1, 9, 3], [1, 0, 0, 7, 4]],
    )
    assert (data.train.x.dtype, data.train.y.dtype, data.train.y.shape) == (np.float32, np.float32, (3, 1))


def test_csv_features_choose_the_columns_and_their_order(csv) -> None:
    data = csv(ROWS, target="price", features=("rooms", "size"), **PLAIN).load(0)
    found = rows(data)
    np.testing.assert_array_equal(found[:, 0], found[:, 1] % 4)
    np.testing.assert_array_equal(found[:, 2], 10 * found[:, 1])


def test_csv_splits_are_disjoint_complete_and_of_the_sizes_asked_for(csv) -> None:
    data = csv(ROWS, target="price", test=7, validation=5, standardize_target=False).load(0)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [18, 5, 7]
    assert sorted(rows(data)[:, -1]) == [10 * n for n in range(30)]


def test_csv_test_split_is_a_fifth_unless_said_otherwise(csv) -> None:
    assert len(csv(ROWS, target="price").load(0).test) == 6


def test_csv_splits_follow_the_split_seed_and_not_the_run_seed(csv) -> None:
    def test_split(seed: int, **options) -> list[float]:
        return csv(ROWS, target="price", standardize_target=False, **options).load(seed).test.y[:, 0].tolist()

    assert test_split(0) == test_split(1) != test_split(0, split_seed=1)
    assert test_split(0) == test_split(0, subset=5, validation=3)


def test_csv_regression_is_standardized_and_classes_are_not(csv) -> None:
    real = csv(ROWS, target="price").load(0)
    assert (real.train.y.mean(), real.train.y.std()) == pytest.approx((0, 1), abs=1e-6)
    classes = csv(ROWS, target="town", task="classification").load(0)
    assert (classes.classes, classes.train.y.dtype) == (("X", "Y", "Z"), np.int64)


def test_csv_classes_are_those_of_their_rows(csv) -> None:
    data = csv(ROWS, target="town", features=("size",), task="classification", test=4).load(0)
    found = rows(data)
    np.testing.assert_array_equal(found[:, 1], found[:, 0] % 3)


def test_csv_says_which_class_has_no_row_to_train_on(csv) -> None:
    content = "a,y\n" + "".join(f"{n},{'many' if n else 'one'}\n" for n in range(20))
    data = csv(content, target="y", task="classification", test=19).load(0)
    assert (data.note, data.train.y.tolist()) == ("a counts the rows; no training example of class 'one'", [0])
    content = "a,y\n" + "".join(f"{n},{n % 20}\n" for n in range(40))
    data = csv(content, target="y", task="classification", test=5, validation=5, subset=10).load(0)
    assert "; no training example of classes " in data.note
    assert data.note.endswith(" and 2 more")


def test_csv_numbers_are_classes_in_numerical_order(csv) -> None:
    data = csv("a,grade\n1,10\n2,9\n3,10\n4,2\n", target="grade", task="classification", test=1).load(0)
    found = rows(data)
    assert data.classes == ("2", "9", "10")
    assert found[np.argsort(found[:, 0]), 1].tolist() == [2, 1, 2, 0]


def test_csv_drops_rows_with_gaps_and_says_so(csv) -> None:
    data = csv(GAPS, target="y", missing="drop", **PLAIN).load(0)
    assert sorted(rows(data)[:, -1]) == [1, 4, 6]
    assert data.note == "3 of 6 rows without a or town or y dropped"


def test_csv_drop_counts_only_the_columns_in_use(csv) -> None:
    data = csv(GAPS, target="y", features=("a",), missing="drop", **PLAIN).load(0)
    assert sorted(rows(data)[:, -1]) == [1, 3, 4, 6]


@pytest.mark.parametrize("split_seed", range(4))
def test_csv_fills_gaps_with_the_mean_of_the_training_split_alone(csv, split_seed: int) -> None:
    options = {"target": "y", "missing": "mean", "split_seed": split_seed, "test": 1, "validation": 1}
    data = csv(GAPS, standardize_target=False, **options).load(0)
    found = rows(data)
    a = dict(zip(found[:, -1], found[:, 0], strict=True))
    trained = [a[y] for y in data.train.y[:, 0] if y != 2]
    assert a[2] == pytest.approx(np.mean(trained))
    assert {y: a[y] for y in (1, 3, 4, 6)} == {1: 1, 3: 3, 4: 5, 6: 9}
    assert data.note == (
        "1 of 6 rows without y dropped; 1 missing a = mean of the training split; "
        "1 missing town = share of every word in the training split"
    )


@pytest.mark.parametrize("missing", ["mean", "drop"])
def test_csv_notes_of_a_wide_table_fit_into_its_record(csv, missing: str) -> None:
    names = [f"the expression of gene {i:,}" for i in range(1000)]
    lines = [[f"0{row * i % 7}" for i in range(1000)] + [str(row)] for row in range(4)]
    table = [[*names, "y"], *lines, [""] * 1000 + ["4"]]
    content = "\n".join(",".join(f'"{cell}"' for cell in cells) for cells in table)
    note = csv(content, target="y", missing=missing, **PLAIN).load(0).note
    assert "; 992 more; " in note
    assert len(note) < MOST_CHARACTERS / 2
    assert ("; 992 more" if missing == "mean" else " or 992 more dropped") in note


def test_csv_missing_word_is_filled_with_the_shares_of_the_words(csv) -> None:
    data = csv("town,y\nX,1\nX,2\nY,3\nX,4\n,5\n", target="y", missing="mean", subset=None, **PLAIN).load(0)
    found = rows(data)
    shares = data.train.x[data.train.y[:, 0] != 5].mean(axis=0)
    np.testing.assert_allclose(found[found[:, -1] == 5][0, :2], shares, rtol=1e-6)


MISTAKES = {
    "no file": ({"file": None}, r"dataset\.file is not set"),
    "no target": ({}, r"dataset\.target is not set: .* there are size, town, rooms, price"),
    "target misspelt": ({"target": "prise"}, r"dataset\.target 'prise' does not exist; .*did you mean price\?"),
    "feature misspelt": ({"target": "price", "features": ("sise",)}, r"dataset\.features 'sise' .*did you mean size\?"),
    "feature twice": ({"target": "price", "features": ("size", "size")}, "one column or more, each once"),
    "no feature": ({"target": "price", "features": ()}, "one column or more, each once"),
    "target as feature": ({"target": "price", "features": ("price",)}, "'price' is the target"),
    "words as numbers": ({"target": "town"}, r"holds words \('X', \.\.\.\); set dataset\.task=classification"),
    "test too large": ({"target": "price", "test": 30}, r"dataset\.test=30: the table has only 30 usable rows"),
    "validation too large": ({"target": "price", "validation": 24}, r"dataset\.validation=24: .* only 24 examples"),
    "unknown way": ({"target": "price", "missing": "dropp"}, r"dataset\.missing 'dropp' .*did you mean drop\?"),
}


@pytest.mark.parametrize(("options", "said"), MISTAKES.values(), ids=MISTAKES)
def test_csv_mistakes_are_one_line(csv, options, said: str) -> None:
    with one_line_error(said):
        replace(csv(ROWS), **options).load(0)


CONTENTS = {
    "prices with their unit": (
        "a,y\n1,\u20ac 5\n2,\u20ac 7\n",
        {},
        r"holds words \('\u20ac 5', \.\.\.\); write plain numbers, or set dataset\.task=classification",
    ),
    "a gap": (GAPS, {}, r"line 3, column 'a': no value \(1 in all\); set dataset\.missing=drop or mean"),
    "gaps everywhere": ("a,b,y\n,1,1\n2,,2\n", {"missing": "drop"}, "leaves no row"),
    "a constant target": ("a,y\n1,5\n2,5\n3,5\n", {}, r"dataset\.target=y is the same in every row"),
    "one class": ("a,y\n1,u\n2,u\n", {"task": "classification"}, "is the same in every row"),
    "names as words": (
        "name,y\n" + "".join(f"n{n},{n}\n" for n in range(101)),
        {},
        r"column 'name' has 101 different values \('n0', \.\.\.\), at most 100; leave it out",
    ),
    "a long text in every row": (
        "text,y\n" + "".join(f"{'a' * 9999}{n},{n}\n" for n in range(101)),
        {},
        r"column 'text' has 101 different values \('a{200}\.\.\. \(10,000 characters\)', \.\.\.\), at most 100;",
    ),
    "a target of long texts": (
        f"a,y\n1,{'a' * 999}\n2,b\n",
        {},
        r"holds words \('a{200}\.\.\. \(999 characters\)', \.\.\.\); set",
    ),
    "too many quantities": (
        "share,y\n" + "".join(f"{n / 10}%,{n}\n" for n in range(101)),
        {},
        r"column 'share' has 101 different values \('0\.0%', \.\.\.\), at most 100; "
        "write plain numbers, or leave it out",
    ),
    "too many classes behind a gap": (
        "a,y\n1,\n" + "".join(f"1,{n / 7}\n" for n in range(101)),
        {"task": "classification", "missing": "drop"},
        r"dataset\.target=y has 101 different values \('0', \.\.\.\), at most 100; set dataset\.task=regression",
    ),
    "too many classes": (
        "a,y\n" + "".join(f"1,{n / 7}\n" for n in range(101)),
        {"task": "classification"},
        r"dataset\.target=y has 101 different values \('0', \.\.\.\), at most 100; set dataset\.task=regression",
    ),
    "inputs that tell nothing": ("a,b,y\n1,u,1\n1,u,2\n1,u,3\n", {}, r"a, b: the same in every row: nothing to learn"),
    "nothing to average": ("a,b,y\n,1,1\n,2,2\n,3,3\n", {"missing": "mean"}, "column 'a' has no value in any row"),
}


@pytest.mark.parametrize(("content", "options", "said"), CONTENTS.values(), ids=CONTENTS)
def test_csv_files_that_cannot_be_learned_from_are_refused(csv, content: str, options, said: str) -> None:
    with pytest.raises(UserError, match=said):
        csv(content, target="y", **options).load(0)


def test_csv_record_tells_the_name_of_the_file_and_not_its_folder(tmp_path: Path) -> None:
    from normexp.config import compose

    def config(folder: str):
        return compose(["dataset=csv", "model=mlp", f"dataset.file={folder}/own.csv", "dataset.target=price"])

    assert config("/private/folder").name == config("elsewhere").name
    assert "own.csv" in config("/private/folder").to_yaml()
    header, _, record = config("/private/folder").to_yaml().partition("\n")
    assert "/private/folder/own.csv" in header  # the command is to be pasted
    assert "/private" not in record


# --- more digits than float32 has

LONG = "id,plain,y\n" + "".join(f"{20_000_001 + n},{n / 7},{30_000_001 + 2 * n}\n" for n in range(12))


def test_csv_long_whole_numbers_keep_their_digits_until_they_are_scaled(csv) -> None:
    data = csv(LONG, target="y", test=2).load(0)
    assert data.note == "id: more digits than float32 has (kept where inputs= scales them, lost with inputs=none)"
    scaled = [Standardize().fit(data.train.x).apply(split.x) for split in (data.train, data.test)]
    assert {part.dtype for part in scaled} == {np.dtype(np.float32)}
    assert len(set(np.concatenate(scaled)[:, 0])) == 12
    assert data.train.y.dtype == np.float32
    assert len(set(np.concatenate([data.train.y, data.test.y])[:, 0])) == 12


@pytest.mark.parametrize(
    ("inputs", "kept"), [(Center(), 10), (MinMax(), 10), (ZCA(), 10), (Identity(), 6), (Binarize(), 1)]
)
def test_csv_long_numbers_end_as_float32(csv, inputs, kept) -> None:
    x = csv(LONG, target="y", features=("id",), test=2).load(0).train.x
    scaled = inputs.fit(x).apply(x)
    assert (scaled.dtype, len(set(scaled[:, 0]))) == (np.dtype(np.float32), kept)


def test_csv_long_targets_that_stay_are_said_to_be_rounded(csv) -> None:
    data = csv(LONG, target="y", features=("plain",), standardize_target=False).load(0)
    assert data.note.endswith(
        "targets rounded to float32, which loses digits (dataset.standardize_target=true keeps them)"
    )
    assert data.train.y.dtype == np.float32


def test_csv_numbers_on_an_offset_count_as_long(csv) -> None:
    content = "t,y\n" + "".join(f"{1_700_000_000 + n / 8},{n}\n" for n in range(12))
    x = csv(content, target="y", test=2).load(0).train.x
    assert len(set(Standardize().fit(x).apply(x)[:, 0])) == 10


def test_csv_plain_decimals_are_not_said_to_be_long(csv) -> None:
    content = "u,c,y\n" + "".join(f"{n / 7},0.1,{n / 3}\n" for n in range(12))
    data = csv(content, target="y").load(0)
    assert (data.note, data.train.x.dtype) == ("c: the same in every row", np.float32)


def test_csv_long_classes_keep_their_names(csv) -> None:
    data = csv("a,y\n1,16777217\n2,16777218\n3,16777217\n", target="y", task="classification", **PLAIN).load(0)
    assert data.classes == ("16777217", "16777218")


def test_csv_says_which_number_even_float64_rounds(csv) -> None:
    content = "id,y\n9007199254740993,1\n2,2\n9007199254740994,2\n"
    said = "id has '9007199254740993', taken as 9007199254740992 (float64)"
    assert csv(content, target="y", **PLAIN).load(0).note.startswith(said)
    classes = csv(content, target="id", task="classification", **PLAIN).load(0)
    note = "no training example of class '2'"  # and nothing of numbers
    assert (classes.classes, classes.note) == (("2", "9007199254740993", "9007199254740994"), note)


def test_csv_gaps_among_long_numbers_are_filled_exactly(csv) -> None:
    content = "id,y\n" + "".join(f"{20_000_001 + n if n else ''},{n}\n" for n in range(4))
    data = csv(content, target="y", missing="mean", validation=0, test=1).load(0)
    assert data.train.x.dtype == np.float64
    assert not np.isnan(data.train.x).any()


def test_csv_shares_are_of_all_rows(csv) -> None:
    data = csv(ROWS, target="price", test=0.2, validation=0.1).load(0)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [21, 3, 6]


def test_csv_shares_are_of_every_class(csv) -> None:
    content = "x,y\n" + "".join(f"{n},{'rare' if n < 5 else 'usual'}\n" for n in range(25))
    data = csv(content, target="y", task="classification", test=0.2, validation=0.2).load(0)
    assert [np.bincount(split.y).tolist() for split in (data.train, data.validation, data.test)] == [
        [3, 12], [1, 4], [1, 4],
    ]  # fmt: skip


def test_csv_says_which_classes_differ_in_capitals_alone(csv) -> None:
    content = "a,kind\n" + "".join(f"{i}1,Yes\n{i}2,yes\n{i}3,no\n" for i in range(1, 5))
    assert csv(content, target="kind", task="classification").load(0).note == (
        "kind has 'Yes' and 'yes', taken as two words"
    )


@pytest.mark.parametrize(
    ("labels", "classes", "note"),
    [
        (("01", "1", "2"), ("01", "1", "2"), "kind has '01' and '1', taken as two words"),
        (("001", "010", "100"), ("001", "010", "100"), ""),
        (("1", "1.0", "2"), ("1", "2"), "kind has '1' and '1.0', taken as one class"),
        (("+1", "1", "-1"), ("-1", "1"), "kind has '+1' and '1', taken as one class"),
        (("0", "0.5", "10"), ("0", "0.5", "10"), ""),
        (("9007199254740992", "9007199254740993", "1"), ("1", "9007199254740992", "9007199254740993"), ""),
        ((f"{10**18}", f"{10**18 + 1}", f"{10**40}"), (f"{10**18}", f"{10**40}", f"{10**18 + 1}"),
         f"kind has '{10**18}' and '{10**40}', taken as words"),
        (("9007199254740993", "+9007199254740993", "1"), ("+9007199254740993", "1", "9007199254740993"),
         "kind has '+9007199254740993' and '9007199254740993', taken as two words"),
        (("0.1234567890123456", "0.1234567890123457", "1"), ("0.12345678901234559", "0.12345678901234571", "1"), ""),
        (("K", "1", "2"), ("1", "2", "K"), "kind has '1' and 'K', taken as words"),
        (("1,003", "x", "12"), ("1,003", "12", "x"), "kind has '1,003' and 'x', taken as words"),
        (("0x1F", "3", "7"), ("0x1F", "3", "7"), "kind has '3' and '0x1F', taken as words"),
    ],
)  # fmt: skip
def test_csv_classes_are_numbers_by_value_and_words_where_they_cannot(csv, labels, classes, note) -> None:
    """01 and 1 were one class, without a remark, and so were whole numbers that float64 cannot tell apart."""
    content = "a,kind\n" + "".join(f'{n},"{label}"\n' for n, label in enumerate(labels * 4))
    data = csv(content, target="kind", task="classification").load(0)
    assert (data.classes, data.note) == (classes, note)
    shown = {data.classes[int(label)] for label in np.concatenate([data.train.y, data.test.y])}
    assert shown == set(classes)


@pytest.mark.parametrize(
    ("cells", "task", "said"),
    [
        (("1", "2", "a"), "regression", "or set dataset.task=classification, which takes all as words"),
        ([f"w{n}" for n in range(101)], "classification", "at most 100; choose a target of fewer classes"),
        ([f"{n}" for n in range(101)], "classification", "at most 100; set dataset.task=regression"),
    ],
)
def test_csv_a_target_that_is_refused_comes_with_a_way_out(csv, cells, task, said) -> None:
    """Other inputs, or a regression of words, were proposed."""
    with one_line_error(said):
        csv("a,kind\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells)), target="kind", task=task).load(0)


def test_csv_a_column_of_classes_is_read_once(csv, monkeypatch) -> None:
    read: list[str] = []
    once = table.ungrouped
    monkeypatch.setattr(table, "ungrouped", lambda cells, sign: read.append(cells[0]) or once(cells, sign))
    csv(ROWS, target="town", task="classification").load(0)
    assert read.count("X") == 1


def test_csv_codes_may_be_missing(csv) -> None:
    content = "a,kind\n" + "".join(f"{i}1,01\n{i}2,NA\n{i}3,2\n" for i in range(1, 5))
    data = csv(content, target="kind", task="classification", missing="drop").load(0)
    assert (data.classes, data.note) == (("01", "2"), "4 of 12 rows without kind dropped")


def test_csv_says_what_tells_nothing_and_what_may_be_a_code(csv) -> None:
    data = csv("a,zip,c,y\n" + "".join(f"7,0{n},{n},{2 * n}\n" for n in range(9)), target="y").load(0)
    assert data.note == "zip has '00', taken as 0; a: the same in every row"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_csv_takes_accents_in_either_form(csv, form: str) -> None:
    """A name typed on one system stands in a file of another: they look the same."""
    one, other = (unicodedata.normalize(each, "größe") for each in (form, "NFC" if form == "NFD" else "NFD"))
    text = f"{one},b,y\nmüll,1,2\n{unicodedata.normalize('NFD', 'müll')},2,3\nx,3,4\ny,3,4\n"
    data = csv(text, target="y", features=(other, "b")).load(0)
    assert data.train.x.shape[1] == 4


def test_csv_says_how_many_test_rows_are_training_rows_too(csv) -> None:
    once = [f"{7 * i},{i * i}\n" for i in range(60)]
    data = csv("a,b\n" + "".join(once * 2), target="b", test=0.2).load(0)
    again = sum(any((row == other).all() for other in data.train.x) for row in data.test.x)
    assert 0 < again < len(data.test)
    assert data.note == f"{again} of 24 test examples are training examples, too"
    assert csv("a,b\n" + "".join(once), target="b", test=0.2).load(0).note == ""


def test_csv_rows_of_another_target_are_no_repetition(csv) -> None:
    assert csv("a,b\n" + "".join(f"{i % 2},{7 * i}\n" for i in range(40)), target="b").load(0).note == ""


def test_csv_says_that_a_column_has_another_word_in_every_row(csv) -> None:
    rows = [f"{first}{second}{{}},{{}}\n" for first in "abcdef" for second in "abcdef"]
    content = "name,b\n" + "".join(row.format("x", 7 * i) for i, row in enumerate(rows))
    assert csv(content, target="b").load(0).note == "name has another word in every row"


def test_csv_first_line_that_names_the_separator_is_no_header(csv) -> None:
    data = csv("sep=;\na;b\n" + "".join(f"{i},5;{7 * i}\n" for i in range(20)), target="b").load(0)
    assert (data.train.x.shape[1], data.note) == (1, "")


def test_csv_line_numbers_count_the_line_that_names_the_separator(csv) -> None:
    with pytest.raises(UserError, match="line 4 has 1 cell"):
        csv("sep=,\na,b\n1,2\n3\n", target="b").load(0)


@pytest.mark.parametrize("word", ["#N/A", "<NA>"])
def test_csv_what_other_programs_write_for_a_gap_is_one(csv, word) -> None:
    content = "a,kind\n" + "".join(f"{i}1,x\n{i}2,{word}\n{i}3,y\n" for i in range(1, 5))
    assert csv(content, target="kind", task="classification", missing="drop").load(0).classes == ("x", "y")


@pytest.mark.parametrize("typed", ["height", "cm", "He"])
def test_csv_a_name_with_a_comma_is_proposed_as_it_is_typed(csv, typed) -> None:
    said = f'{typed}\' does not exist; allowed: weight, "height, cm", id; did you mean "height, cm"\\?$'
    with one_line_error(said):
        csv('weight;"height, cm";id\n1;2;3\n2;3;4\n', target=typed).load(0)
