"""The table's numbers and words, and its four formats."""

import csv
import math
import re
import shutil
import statistics
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fabricated import CLASSIFICATION, REGRESSION, Fabric, rows

from normexp.records import RunDirectory
from normexp.report.commands.runs import table_command
from normexp.report.drawing import Drawn
from normexp.report.frames.reading import folder_frame
from normexp.report.tables.formats import FORMATS, csv_text
from normexp.report.tables.html import html_page
from normexp.report.tables.latex import latex
from normexp.report.tables.runs import table
from normexp.report.tables.table import Table


def cells(runs: list[RunDirectory]) -> list[dict[str, str]]:
    content = table(folder_frame(runs))
    return [dict(zip(content.heads, line, strict=True)) for line in content.rows]


def numbers(runs: list[RunDirectory]) -> list[dict[str, str]]:
    return list(csv.DictReader(FORMATS["csv"](table(folder_frame(runs))).splitlines()))


def test_mean_and_sample_standard_deviation_over_all_seeds(fabricate: Fabric) -> None:
    accuracies = [0.9712, 0.9688, 0.9731]
    runs = [fabricate(value, norm="batch", seed=seed) for seed, value in enumerate(accuracies)]
    (row,) = cells(runs)
    assert (row["seeds"], row["finite"]) == ("3", "3/3")
    assert row["test accuracy (%) ↑"] == f"97.10 ± {100 * statistics.stdev(accuracies):.2f}"
    (plain,) = numbers(runs)
    assert float(plain["test_accuracy_mean"]) == pytest.approx(statistics.mean(accuracies), rel=1e-15)
    assert float(plain["test_accuracy_sd"]) == pytest.approx(statistics.stdev(accuracies), rel=1e-12)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([4.3e175, 3.3e178, 2.6e182], "median 3.30e+178, 4.30e+175 to 2.60e+182"),  # it was (0.9 ± 1.5)e+182
        ([69.1, 70, 82, 91, 1.09e5], "median 82, 69 to 109000"),
        ([0.0, 0.0, 90.0], "30 ± 52"),  # 0 is no number of decades away
        ([2.0, 190.0, 200.0], "130 ± 110"),
        ([2.4, 2.5, 45.0], "median 2.5, 2.4 to 45"),
        ([5.0, 5.1, 30.0], "13 ± 14"),
        ([1.0, math.inf], "1 (1 of 2 finite)"),  # it was ∞ ± ?, and a warning of NumPy
        ([math.inf], "∞"),
        ([math.nan], "-"),
    ],
)
def test_where_a_mean_tells_of_one_run_alone_there_is_the_median(
    fabricate: Fabric, losses: list[float], expected: str
) -> None:
    columns = ("step", "test/loss")
    runs = [fabricate(seed=i, columns=columns, table=[{"step": 1, "test/loss": x}]) for i, x in enumerate(losses)]
    content = table(folder_frame(runs))
    assert content.rows[0][-1] == expected
    assert any("Median" in note for note in content.notes[""]) is expected.startswith("median")


def test_one_seed_has_no_standard_deviation(fabricate: Fabric) -> None:
    run = fabricate(0.5)
    assert cells([run])[0]["test accuracy (%) ↑"] == "50.00"
    assert numbers([run])[0]["test_accuracy_sd"] == ""


def test_diverged_runs_stay_in_the_count_and_out_of_the_mean(fabricate: Fabric) -> None:
    runs = [fabricate(0.8, seed=0), fabricate(0.9, seed=1), fabricate(0.2, seed=2, status="diverged")]
    runs += [fabricate(norm="batch", seed=seed, status="diverged") for seed in (0, 1)]
    none, batch = cells(runs)
    assert none["finite"] == "2/3"
    assert none["test accuracy (%) ↑"] == "85.0 ± 7.1 (2 of 3 finite)"
    assert batch["finite"] == "0/2"
    assert batch["test accuracy (%) ↑"] == "diverged"
    plain, ended = numbers(runs)
    assert (plain["seeds"], plain["finite"]) == ("3", "2")
    assert ended["test_accuracy_mean"] == ""


def test_a_run_that_diverged_before_any_evaluation(fabricate: Fabric) -> None:
    runs = [fabricate(0.8, seed=0), fabricate(seed=1, table=[], status="diverged")]
    assert cells(runs)[0]["test accuracy (%) ↑"] == "80.00 (1 of 2 finite)"


def test_a_row_whose_runs_all_diverged_before_any_evaluation_says_so(fabricate: Fabric) -> None:
    runs = [fabricate(0.8, seed=0), fabricate(norm="batch", table=[], status="diverged")]
    assert [row["test accuracy (%) ↑"] for row in cells(runs)] == ["80.00", "diverged"]
    assert [row["test accuracy (%) ↑"] for row in cells(runs[1:])] == ["diverged"]


def test_what_a_healthy_run_does_not_measure_did_not_diverge(fabricate: Fabric) -> None:
    made: list[dict[str, object]] = [{"step": 4, "test/rmse": 0.5, "train/loss": 1.0}]
    houses = {"dataset": "house_prices", "table": made, "columns": REGRESSION}
    content = table(folder_frame([fabricate(), fabricate(status="diverged", **houses)]), ["norm"])
    assert dict(zip(content.heads, *content.rows, strict=True))["test rmse ↓"] == "-"


def test_the_last_row_counts_not_the_best_one(fabricate: Fabric) -> None:
    values = (0.1, 0.99, 0.7)
    made = [{**row, "test/accuracy": v} for row, v in zip(rows(1, (0, 5, 9)), values, strict=True)]
    assert cells([fabricate(table=made)])[0]["test accuracy (%) ↑"] == "70.00"
    assert "not the best" in table_command([str(fabricate(table=made).path)])


def test_an_arm_without_a_finished_run_keeps_its_row(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch"), fabricate(norm="layer", status="failed")]
    row = cells(runs)[1]
    assert (row["arm"], row["seeds"], row["test accuracy (%) ↑"]) == ("layer", "0", "-")


def test_data_sets_and_models_get_columns_only_where_they_vary(fabricate: Fabric) -> None:
    made: list[dict[str, object]] = [{"step": 4, "test/rmse": 0.5, "train/loss": 1.0}]
    runs = [fabricate(), fabricate(dataset="house_prices", table=made, columns=REGRESSION)]
    digits, houses = cells(runs)
    assert "model" not in digits
    assert (digits["dataset"], digits["arm"]) == ("digits", "none")
    assert (digits["test accuracy (%) ↑"], digits["test rmse ↓"]) == ("90.00", "-")
    assert (houses["dataset"], houses["arm"]) == ("house_prices", "none")
    assert (houses["test accuracy (%) ↑"], houses["test rmse ↓"]) == ("-", "0.5")
    assert "Dataset" not in table(folder_frame(runs)).title
    assert table(folder_frame(runs[:1])).title == "Dataset digits, model cnn."


def test_the_title_says_what_makes_the_rows_and_what_they_have_in_common(fabricate: Fabric) -> None:
    """It was "Runs." whatever they had in common, and wrote the name of a network of one's own in lower case."""
    runs = [fabricate(norm="batch", model="MyNet"), fabricate(norm="layer", model="MyNet")]
    assert table(folder_frame(runs), ["norm"]).title == "Dataset digits, model MyNet, by norm."
    assert table(folder_frame(runs), ["model"]).title == "Dataset digits, by model."
    assert (
        table(folder_frame([*runs, fabricate(dataset="mnist", model="mlp")]), ["norm", "seed"]).title
        == "Runs by norm, seed."
    )


def test_runs_that_measure_something_else_do_not_count_as_diverged(fabricate: Fabric) -> None:
    made: list[dict[str, object]] = [{"step": 4, "test/rmse": 0.5, "train/loss": 1.0}]
    runs = [fabricate(), fabricate(dataset="house_prices", table=made, columns=REGRESSION)]
    (row,) = table(folder_frame(runs), ["norm"]).rows
    assert "90.00 (1 of 2 runs)" in row
    assert not [cell for cell in row if "finite" in cell]


def test_validation_has_a_column_where_there_is_one(fabricate: Fabric) -> None:
    made = [{**row, "validation/accuracy": 0.625} for row in rows(0.5, (0, 5))]
    run = fabricate(table=made, columns=(*CLASSIFICATION, "validation/accuracy"))
    assert cells([run])[0]["validation accuracy (%) ↑"] == "62.50"
    assert "validation accuracy (%) ↑" not in cells([fabricate()])[0]


def test_arrows_point_to_what_is_better_and_none_where_nobody_knows(fabricate: Fabric) -> None:
    table = [{"step": 0, "gram/error": 1.0, "rank": 3.0, "top5_accuracy": 0.5}]
    (row,) = cells([fabricate(table=table, columns=("step", "gram/error", "rank", "top5_accuracy"))])
    assert [*row][-3:] == ["gram error (%) ↓", "rank", "top5 accuracy (%) ↑"]


def test_data_notes_are_under_the_table(fabricate: Fabric) -> None:
    run = fabricate(dataset="cifar10", note="CIFAR-10, JPEG copy")
    for format in ("md", "html"):
        assert "Data of cifar10: CIFAR-10, JPEG copy." in table_command([str(run.path)], format=format)


def test_the_note_of_a_file_of_your_own_names_the_file(fabricate: Fabric) -> None:
    noted = [fabricate(dataset="csv", note=f"{n} gaps filled", dataset__file=f"/folder/{n}.csv") for n in ("a", "b")]
    text = table_command([str(noted[0].path.parent)])
    assert "Data of csv (a.csv): a gaps filled." in text
    assert "Data of csv (b.csv): b gaps filled." in text


@pytest.fixture
def awkward(fabricate: Fabric) -> RunDirectory:
    """Names with every character that some format reads as markup."""
    fabricate(norm="weight_mean_only", model__name="<b>&_x_|50%$#{}~^\\*`")
    fabricate(norm="weight_mean_only", model__name="[x](y)&lt;")
    return fabricate(norm="weight_mean_only", model__name="[plain]", note="<i>100 %</i>")


def test_latex_is_escaped(awkward: RunDirectory) -> None:
    text = table_command([str(awkward.path.parent)], format="tex")
    assert r"weight\_mean\_only" in text
    escaped = r"\textless{}b\textgreater{}\&\_x\_\textbar{}50\%\$\#\{\}\textasciitilde{}\textasciicircum{}"
    assert rf"{escaped}\textbackslash{{}}*`" in text
    assert "{[}plain{]}" in text
    assert r"\shortstack[r]{test accuracy\\(\%) $\uparrow$}" in text
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    assert {line.count(" & ") for line in body.splitlines() if line.endswith(r"\\")} == {4}


def test_html_is_escaped_and_whole(awkward: RunDirectory) -> None:
    text = table_command([str(awkward.path.parent)], format="html")
    assert "&lt;b&gt;&amp;_x_" in text
    assert "&lt;i&gt;100 %&lt;/i&gt;" in text
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(text)
    assert not {"b", "i", "script", "link", "img"} & set(tags)
    assert tags.count("tr") == 4


def test_html_has_heads_of_rows_and_columns_and_commands_as_code() -> None:
    """A picture's name may hold what an address gives another meaning."""
    content = Table("A title.", ["arm", "loss"], [["batch", "1.0"]], notes={"Runs": ["Made by `normexp <x>`."]})
    text = html_page(content, [Drawn("x", "A #1", "As `run` does.", {"a#1 %.svg": b""})])
    assert "<caption><h1>A title.</h1></caption>" in text
    assert '<tr><th scope="col" class="text">arm</th><th scope="col">loss</th></tr>' in text
    assert '<tr><th scope="row" class="text">batch</th><td>1.0</td></tr>' in text
    assert "<p>Made by <code>normexp &lt;x&gt;</code>.</p>" in text
    assert "<figcaption>As <code>run</code> does.</figcaption>" in text
    assert 'src="a%231%20%25.svg"' in text


def test_markdown_is_escaped_and_aligned(awkward: RunDirectory) -> None:
    text = table_command([str(awkward.path.parent)])
    assert r"\<b\>&\_x\_\|50%$#{}~^\\\*\`" in text
    assert r"[x\](y)\&lt;" in text
    assert "[plain] " in text
    assert "weight_mean_only" in text
    assert len({len(line) for line in text.splitlines() if line.startswith("|")}) == 1


def test_csv_round_trips_awkward_names(awkward: RunDirectory) -> None:
    lines = list(csv.DictReader(table_command([str(awkward.path.parent)], format="csv").splitlines()))
    assert {line["arm"].partition("model.name=")[2] for line in lines} == {
        *("<b>&_x_|50%$#{}~^\\*`", "[x](y)&lt;", "[plain]")
    }


def test_writing_gives_four_files_with_equal_bytes_again(fabricate: Fabric) -> None:
    run, *_ = [fabricate(norm=norm, seed=seed) for norm in ("batch", "none") for seed in (0, 1)]
    out = run.path.parent.parent / "new" / "tables"
    assert table_command([str(run.path.parent)], str(out)).startswith("Dataset digits")
    files = sorted(out.iterdir())
    assert [path.name for path in files] == ["table.csv", "table.html", "table.md", "table.tex"]
    first = [path.read_bytes() for path in files]
    table_command([str(run.path.parent)], str(out))
    assert [path.read_bytes() for path in files] == first
    assert not any(str(run.path.parent).encode() in content for content in first)


def test_filters_keep_runs_and_by_makes_the_rows(fabricate: Fabric) -> None:
    for norm in ("none", "batch", "layer"):
        for rate in (0.1, 0.3):
            fabricate(rate, norm=norm, optim__lr=rate)
    root = str(fabricate.root)
    lines = csv.DictReader(table_command([root, "norm=batch,layer", "optim.lr=3e-1"], format="csv").splitlines())
    assert [line["arm"] for line in lines] == ["batch", "layer"]  # the rate does not vary any more
    by = list(csv.DictReader(table_command([root], format="csv", by=["optim.lr"]).splitlines()))
    assert [(line["optim.lr"], line["seeds"]) for line in by] == [("0.1", "3"), ("0.3", "3")]
    assert "over a row's runs, whatever they differ in," in table_command([root], by=["optim.lr"])


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx"])
def test_csv_has_no_formula_for_a_spreadsheet(text: str) -> None:
    (row,) = csv.DictReader(csv_text(Table("t", [text], [], [{text: text, "n": "-3", "m": -3.5}])).splitlines())
    assert row == {f"'{text}": f"'{text}", "n": "-3", "m": "-3.5"}


TOP = Path(__file__).parents[3]


TEX = sorted(TOP.glob("results/*/*/table.tex"))


@pytest.mark.parametrize("path", TEX, ids=lambda path: path.parts[-3])
def test_committed_latex_is_well_formed(path: Path) -> None:
    """No TeX runs here: rows have their columns, braces close, and nothing is left that needs a package more."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("%"))
    assert text.isascii()
    plain = re.sub(r"\\[{}]", "", text.replace(r"\\", ""))
    assert plain.count("{") == plain.count("}")
    for part in text.split(r"\begin{table}")[1:]:
        columns = len(re.search(r"begin\{tabular\}\{(l+r*)\}", part)[1])  # type: ignore[index]
        rows = [line for line in part.splitlines() if line.endswith(r"\\")]
        assert {line.count(" & ") for line in rows} == {columns - 1}
    assert not re.search(r"(?<!\\)[#%_&](?! )", re.sub(r"\\label\{.*?\}|!\}\{%", "", text))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex (texlive-latex-recommended)")
@pytest.mark.parametrize(
    ("size", "margin"),
    [*((f"{size}pt", "") for size in (10, 11, 12)), ("10pt", r"\usepackage[a4paper,margin=2.5cm]{geometry}")],
    ids=["10", "11", "12", "a4"],
)
def test_committed_latex_compiles_and_fits_its_page(tmp_path: Path, size: str, margin: str) -> None:
    """Every float is on a page, none is wider than the text or smaller than half its size."""
    measured = re.compile(r"(\\begin\{tabular\}.*?\\end\{tabular\})", re.DOTALL)
    lines = [rf"\documentclass[{size}]{{article}}\usepackage{{booktabs,graphicx}}", margin]
    lines.append(r"\begin{document}\newsavebox\whole")
    for path in TEX:
        for part in measured.findall(text := path.read_text()):
            lines += [rf"\sbox\whole{{{part}}}\typeout{{WIDTH \the\wd\whole\space \the\linewidth}}"]
        lines += [text, r"\clearpage"]
    (tmp_path / "all.tex").write_text("\n".join([*lines, r"\end{document}", ""]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.findall(r"Overfull.*|.*Float too large.*|.*multiply defined.*", done.stdout)
    widths = re.findall(r"WIDTH ([\d.]+)pt ([\d.]+)pt", done.stdout)
    assert len(widths) >= len(TEX)
    assert min(float(text) / float(wide) for wide, text in widths) > 0.5


def test_signs_that_pdflatex_lacks_stand_by_their_code() -> None:
    rows = [["漢字, é", "\N{MINUS SIGN}1"], ["Łukasz ð", "2"]]
    text = latex(Table("A title with 字.", ["arm", "\N{GREEK SMALL LETTER GAMMA} ≥ 0"], rows))
    assert "\n% signs that pdflatex lacks stand by their code: U+5B57 is 字, U+6F22 is 漢, U+00F0 is ð\n" in text
    assert r"\caption{A title with U+5B57.}" in text
    assert r"arm & $\gamma$ $\geq$ 0 \\" in text
    assert r"U+6F22U+5B57, é & $-$1 \\" in text
    assert r"Łukasz U+00F0 & 2 \\" in text


def test_a_wide_and_long_table_goes_on_in_a_second_float() -> None:
    heads = ["arm", *(f"a head of several words {i}" for i in range(12))]
    rows = [[f"arm {i}", *["(1.234 ± 0.056)e-04"] * 12] for i in range(90)]
    text = latex(Table("Wide.", heads, rows, label="wide"))
    parts = text.count(r"\begin{table}")
    assert f"Part {parts} of {parts}." in text
    assert rf"\label{{tab:wide-{parts}}}" in text
    assert text.count(r"(1.234 $\pm$ 0.056)$\cdot10^{-4}$") == 90 * 12
    assert text.count("\narm 7 &") == -(-12 // 5) == text.count("arm 89 &")
