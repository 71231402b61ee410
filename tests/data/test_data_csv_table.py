"""CSV files as people have them, and everything that can be wrong with one."""

import gzip
import time
from pathlib import Path

import numpy as np
import pytest
from one_line import one_line_error

from normexp.data.tables import numerals
from normexp.data.tables.csv_table import read_table, table_path
from normexp.data.tables.numerals import number_in, plain_numbers
from normexp.data.tables.table import FEW_ROWS
from normexp.errors import UserError


@pytest.fixture
def table(tmp_path: Path):
    """Write a text or bytes as a file and read it as a table."""

    def read(content: str | bytes):
        path = tmp_path / "houses.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path)

    return read


DELIMITED = {
    "comma": "size,price,town\n1.5,2,X\n3,4,Y\n",
    "semicolon, decimal comma": "size;price;town\n1,5;2;X\n3;4;Y\n",
    "tab": "size\tprice\ttown\n1.5\t2\tX\n3\t4\tY\n",
    "bar": "size|price|town\n1.5|2|X\n3|4|Y\n",
    "byte order mark": "\ufeffsize,price,town\n1.5,2,X\n3,4,Y\n",
    "two byte order marks": "\ufeff\ufeffsize,price,town\n1.5,2,X\n3,4,Y\n",
    "Windows line ends": "size,price,town\r\n1.5,2,X\r\n3,4,Y\r\n",
    "no last line end": "size,price,town\n1.5,2,X\n3,4,Y",
    "blank lines": "\nsize,price,town\n\n1.5,2,X\n  \n3,4,Y\n\n",
    "spaces": "size , price, town\n 1.5, 2 ,X\n3,4, Y\n",
    "quotes": '"size","price","town"\n"1.5","2","X"\n3,4,"Y"\n',
    "quotes behind spaces": '"size", "price", "town"\n"1.5", "2", "X"\n3, 4, "Y"\n',
}


@pytest.mark.parametrize("content", DELIMITED.values(), ids=DELIMITED)
def test_table_of_every_kind_is_read_alike(table, content: str) -> None:
    read = table(content)
    assert list(read.columns) == ["size", "price", "town"]
    assert [read.column(name).tolist() for name in read.columns] == [[1.5, 3], [2, 4], ["X", "Y"]]


@pytest.mark.parametrize("name", ["size\nm2", "size \r\n\r\n m2\n", "size\u2028m2"])
def test_table_name_on_several_lines_is_one_that_can_be_typed(table, name) -> None:
    assert list(table(f'"{name}",b\n1,2\n').columns) == ["size m2", "b"]


def test_table_name_with_a_delimiter_in_quotes_is_one_column(table) -> None:
    assert list(table('"a;b;c;d","e"\n1,2\n').columns) == ["a;b;c;d", "e"]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "null", "None", "?", "  "])
def test_table_missing_number_is_nan(table, word: str) -> None:
    np.testing.assert_array_equal(table(f"a,b\n1,2\n{word},3\n").column("a"), [1, np.nan])


def test_table_missing_word_is_empty(table) -> None:
    assert table("a,b\nx,2\nNA,3\n").column("a").tolist() == ["x", ""]


def test_table_word_takes_its_own_room_and_not_that_of_the_longest(table) -> None:
    assert table(f"a,b\nx,2\n{'long' * 1000},3\n").column("a").nbytes <= 2 * 8


@pytest.mark.parametrize(
    ("content", "names", "first"),
    [
        ("price, EUR;y\n1,5;2\n2,5;3\n", ["price, EUR", "y"], 1.5),
        ("length, width, cm;y\n1,5;2\n2,5;3\n", ["length, width, cm", "y"], 1.5),
        ("time; s,y\n1,2\n2,3\n", ["time; s", "y"], 1),
    ],
)
def test_table_name_with_another_delimiter_is_one_column(table, content: str, names: list[str], first: float) -> None:
    """The rows say which one separates columns: `price, EUR;y` was taken for the columns `price` and `EUR;y`."""
    read = table(content)
    assert list(read.columns) == names
    assert read.column(names[0])[0] == first


SEPARATED = {
    "comma": (
        'a,b\n"1,003",1\n850,2\n"-2,345,678.5",3\n',
        [1003, 850, -2345678.5],
        "'1,003', taken as numbers (here 1003)",
    ),
    "point": ("a;b\n1.003;1\n850;2\n2.500,50;3\n", [1003, 850, 2500.5], "'1.003', taken as numbers (here 1003)"),
    "space": ("a,b\n1 003,1\n850,2\n2\u202f500,3\n", [1003, 850, 2500], "'1 003', taken as numbers (here 1003)"),
    "apostrophe": ("a,b\n1'003,1\n850,2\n,3\n", [1003, 850, np.nan], '"1\'003", taken as numbers (here 1003)'),
    "three decimals": ("a;b\n1.003;1\n850;2\n2.5;3\n", [1.003, 850, 2.5], ""),
    "decimal commas": ('a,b\n"1,5",1\n"1,003",2\n', ["1,5", "1,003"], "'1,5', taken as words"),
    "decimal commas alone": (
        'a,b\n"3,5",1\n4,2\n"0,125",3\n,4\n',
        [3.5, 4, 0.125, np.nan],
        "'3,5', taken as numbers (here 3.5)",
    ),
    "decimal commas, tabs": ("a\tb\n3,5\t1\n1,003\t2\n", [3.5, 1.003], ""),
    "decimal points, semicolons": ("a;b\n3.5;1\n1.003;2\n", [3.5, 1.003], ""),
    "points of thousands, as another column says": (
        "a;b\n1.003;1,5\n2.500;2\n",
        [1003, 2500],
        "'1.003', taken as numbers (here 1003)",
    ),
    "points, as another column says": ("a;b\n1.003;0.5\n2.500;2\n", [1.003, 2.5], ""),
    "points beside commas": ("a;b\n3.5;1,5\n2.25;2,5\n", [3.5, 2.25], ""),
    "nothing says what points are": ("a;b\n1.003;1\n2.500;2\n", [1.003, 2.5], "'1.003', taken as 1.003"),
    "nothing says what commas are": ("a;b\n1,003;1\n2,500;2\n", [1.003, 2.5], "'1,003', taken as 1.003"),
    "commas in some numbers of a column": (
        "a;b\n1,765;1\n875;2\n",
        [1765, 875],
        "'1,765', taken as numbers (here 1765)",
    ),
    "two commas in another column's": (
        "a;b\n1,765;11,728,000\n2,875;5\n",
        [1765, 2875],
        "'1,765', taken as numbers (here 1765)",
    ),
    "points of thousands, decimal commas": (
        'a,b\n"1.003,50",1\n850,2\n"3,5",3\n2.500,4\n,5\n',
        [1003.5, 850, 3.5, 2500, np.nan],
        "'1.003,50', taken as numbers (here 1003.5)",
    ),
    "commas of thousands, decimal points": (
        "a;b\n1,003.50;1,5\n850;2\n3.5;0,5\n",
        [1003.5, 850, 3.5],
        "'1,003.50', taken as numbers (here 1003.5)",
    ),
    "spaces of thousands, decimal commas": (
        "a;b\n1 003,5;1\n850;2\n-12\u00a0500,25;3\n",
        [1003.5, 850, -12500.25],
        "'1 003,5', taken as numbers (here 1003.5)",
    ),
    "spaces of thousands, decimal commas, as another column says": (
        "a;b\n1.003;1 003,5\n2.500;2\n",
        [1003, 2500],
        "'1.003', taken as numbers (here 1003)",
    ),
    "spaces of thousands, decimal commas in quotes": (
        'a,b\n"1 003,5",1\n"2,5",2\n',
        [1003.5, 2.5],
        "'1 003,5', taken as numbers (here 1003.5)",
    ),
    "apostrophes of thousands, decimal points": (
        "a;b\n1'003.5;1,500\n850;2,250\n",
        [1003.5, 850],
        '"1\'003.5", taken as numbers (here 1003.5)',
    ),
    "decimal commas before powers of ten": ("a;b\n1,5E+02;1\n-2,125e-1;2\n", [150, -0.2125], ""),
    "powers of ten say what commas are": (
        "a;b\n1.003;1,003E2\n2.500;2\n",
        [1003, 2500],
        "'1.003', taken as numbers (here 1003)",
    ),
    "powers of ten after points beside commas": ("a;b\n1.125E+02;1,5\n2;2,5\n", [112.5, 2], ""),
    "percent": ("a,b\n12%,1\n3%,2\n", ["12%", "3%"], "'12%', taken as words"),
    "words": ("a,b\nx,1\ny 2,2\n", ["x", "y 2"], ""),
    "words in capitals": ("a,b\nYes,1\nno,2\nyes,3\n", ["Yes", "no", "yes"], "'Yes' and 'yes', taken as two words"),
    "a typographic minus": ("a;b\n\u22121,5;1\n2;2\n", [-1.5, 2], ""),
}


@pytest.mark.parametrize(("content", "numbers", "said"), SEPARATED.values(), ids=SEPARATED)
def test_table_says_how_it_reads_what_is_no_plain_number(table, content: str, numbers: list, said: str) -> None:
    read = table(content)
    np.testing.assert_array_equal(read.column("a"), numbers)
    assert read.remark("a") == (said and f"a has {said}")


MIXED = [("1,003", "x"), ("1,003", "12", "1,00"), ("3,5", "12", "1,75", "2.5"), ("1,5", "12", "3")]
MIXED += [
    ("3,5", "12", "1,75", "2.500"),  # two thousand, or two and a half
    ("1.003,5", "12", "1,75", "2.50"),
    ("1.003,5", "12", "1,003.5"),
    ("1.003,5", "12", "1.03,5"),
    ("1 003,5", "12", "10 03,5"),
]


@pytest.mark.parametrize("cells", MIXED)
def test_table_column_of_some_numbers_with_separators_is_refused(table, cells: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="is not a number, though others there are"):
        table("a,b\n" + "".join(f'"{cell}",1\n' for cell in cells)).column("a")


def test_table_column_with_both_signs_before_decimals_is_refused(table) -> None:
    with pytest.raises(UserError, match=r"line 2, column 'a': '3,5' is not a number, .* \(2 such cells\)"):
        table("a;b\n3,5;1\n12;1\n1,75;2\n2.5;1\n").column("a")


@pytest.mark.parametrize("first", [0, 1])
def test_table_says_which_column_counts_its_rows(table, first: int) -> None:
    read = table("No,late,b\n" + "".join(f"{first + n},{n + 2},{n % 3}\n" for n in range(FEW_ROWS)))
    assert [read.remark(name) for name in read.columns] == ["No counts the rows", "", ""]


def test_table_says_how_many_cells_are_no_numbers(table) -> None:
    read = table("a,b\n1,2\n-,3\n-,3\nx,3\n" + "4,5\n" * 100)
    with pytest.raises(UserError, match=r"line 3, column 'a': '-' is not a number, .* \(3 such cells\); correct it"):
        read.column("a")


def test_table_of_mixed_line_ends_is_read_line_by_line(table) -> None:
    read = table(b"\xef\xbb\xbfa,b\r\n1,2\n3,4\r5,6\r\n\r\n7,x\n")
    assert read.column("a").tolist() == [1, 3, 5, 7]
    with pytest.raises(UserError, match="line 6, column 'b': 'x'"):
        read.column("b")


def test_table_of_many_columns_is_read_in_time_that_grows_with_them(table) -> None:
    def seconds(count: int) -> float:
        text = f"{','.join(f'gene{i}' for i in range(count))}\n{','.join('1' * count)}\n"
        began = time.process_time()
        assert len(table(text).columns) == count
        return time.process_time() - began

    few, many = (min(seconds(count) for _ in range(3)) for count in (5_000, 20_000))
    assert many < 9 * few  # 16 times where time grows with the square


MISTAKES = {
    "empty": ("", "empty file; the first line must name the columns"),
    "only blanks": (" \n\n", "empty file"),
    "not UTF-8": ("a,b\nS\xe3o,1\n".encode("latin-1"), r"not UTF-8 text \(byte 0xe3 at 5\)"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), r"not UTF-8 text \(byte 0x0 at 1\)"),
    "compressed": (gzip.compress(b"a,b\n1,2\n"), "compressed by gzip; unpack it first"),
    "one column": ("a\n1\n", "line 1 has one column"),
    "header only": ("a,b\n", "no rows below the names of the columns"),
    "no header": ("1,2\n3,4\n", "line 1 holds numbers; it must name the columns"),
    "name twice": ("a,b,a\n1,2,3\n", "two columns are called 'a'"),
    "no name": ("a,,c\n1,2,3\n", "column 2 has no name; every column needs one in line 1$"),
    "an index without a name": (",a,b\n0,2,3\n", r"column 1 has no name; .* \(numbers of the rows\? leave them out"),
    "short row": ("a,b\n1,2\n\n3\n", "line 4 has 1 cell, line 1 names 2 columns"),
    "long row": ("a,b\n1,2,3\n", "line 2 has 3 cells"),
    "quotes never closed": ('a,b\n1,2\n"3,4\n5,6\n', "line 3: a quotation mark is not closed"),
    "a cell too long": (f"a,b\n{'x' * 200_000},2\n", r"line 2: field larger than field limit \(131072\)"),
    "broken quotes": ('a,b\n"1"x,2\n', "line 2: "),
}


@pytest.mark.parametrize(("content", "said"), MISTAKES.values(), ids=MISTAKES)
def test_table_mistakes_are_one_line(table, content: str | bytes, said: str) -> None:
    with one_line_error(rf"houses\.csv: {said}"):
        table(content)


@pytest.mark.parametrize("slip", ["12x", "1_000", "inf", "1,5", "3 m"])
def test_table_slip_among_numbers_is_told_with_its_place(table, slip: str) -> None:
    read = table(f'a,b\n1,2\n\n"{slip}",3\n')
    with pytest.raises(UserError, match=f"line 4, column 'a': '{slip}' is not a number"):
        read.column("a")


def test_file_that_does_not_exist_is_told_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "houses.csv").touch()
    for wrong in ("house.csv", "houses.CSV", "house"):
        with pytest.raises(UserError, match=rf"dataset\.file=.*{wrong}: no such file; did you mean .*/houses\.csv\?"):
            table_path(str(tmp_path / wrong))
    with pytest.raises(UserError, match="is a folder, and a CSV file is needed"):
        table_path(str(tmp_path))


@pytest.mark.parametrize("number", ["1e300", "-1e999", "9" * 400])
@pytest.mark.parametrize("before", ["1\n", ""], ids=["beside a smaller one", "alone"])
def test_number_that_float32_cannot_hold_is_told_as_one(table, number, before) -> None:
    with pytest.raises(UserError, match=r"line \d, column 'a': '(1e300|-1e999|9{200}.*)' is beyond 3\.4e\+38"):
        table(f"a|b\n{before.replace(chr(10), '|2' + chr(10))}{number}|2\n").column("a")


def test_infinity_is_no_number_but_a_word(table) -> None:
    assert table("a,b\ninf,2\n-inf,2\n").column("a").tolist() == ["inf", "-inf"]


CELLS = ["1", "-2.5e3", "+0.1", ".5", "٣", "", "1_0", "nan", "-nan", "inf", "1e39", "1,5", "1.003", "1 003", "x", "0x1"]


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("cell", CELLS)
def test_table_column_of_plain_numbers_is_what_each_cell_says(cell: str, decimal: str) -> None:
    cells = ["7", cell, "8"]
    each = [number_in(cell, decimal) if cell else np.nan for cell in cells]
    numbers = plain_numbers(cells, decimal)
    assert numbers is None if None in each else np.array_equal(numbers, each, equal_nan=True)


def test_table_looks_at_each_different_cell_once(table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a table of 300,000 rows takes half a minute to read."""
    looked: list[str] = []
    monkeypatch.setattr(numerals, "number_in", lambda *given: looked.append(given[0]) or number_in(*given))
    monkeypatch.setattr("normexp.data.tables.table.number_in", numerals.number_in)
    read = table("size,town\n" + "".join(f"{row / 7},{'XY'[row % 2]}\n" for row in range(500)))
    for name in read.columns:
        read.column(name), read.remark(name)
    assert read.column("town")[:2].tolist() == ["X", "Y"]
    assert len(looked) < 20


def test_a_row_whose_text_has_line_breaks_is_where_it_begins(table):
    assert table('a,b\n"x\ny",1\n\n2,5\n3,4\n').lines == (2, 5, 6)
