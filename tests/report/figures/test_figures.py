"""`normexp plot`: what is drawn, in which formats, that it is the same again; its mistakes."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from drawn import assert_clean, texts
from fabricated import REGRESSION, Fabric, rows
from matplotlib.figure import Figure

from normexp.cli.verbs import main
from normexp.errors import UserError
from normexp.records import RunDirectory, find_runs
from normexp.report.commands.runs import plot_command
from normexp.report.figures.averages import lines_of
from normexp.report.figures.captions import caption
from normexp.report.figures.chart import Chart
from normexp.report.figures.formats import Theme, check_formats, images, settings, theme
from normexp.report.figures.picture import draw
from normexp.report.figures.runs import curves_of
from normexp.report.frames.reading import folder_frame


def losses(*values: float, every: int = 10) -> list[dict[str, object]]:
    """Return evaluations of a training loss from step `every` on; step 0 has none."""
    later: list[dict[str, object]] = [{"step": i * every, "train/loss": v} for i, v in enumerate(values, 1)]
    return [{"step": 0}, *later]


def chart(runs: list[RunDirectory], metric: str | None = None) -> Chart:
    return curves_of(folder_frame(runs), metric)


def test_runs_of_a_study_have_no_curves_unasked(fabricate: Fabric) -> None:
    runs = [fabricate(table=[{"step": 1, "level": 0.5}], columns=("step", "level"))]
    with pytest.raises(UserError, match=r"no train/loss or other usual metric; --metric takes level$"):
        chart(runs)
    assert len(chart(runs, "level").panels) == 1


def figure(runs: list[RunDirectory], metric: str | None = None) -> Figure:
    with settings(theme()):
        return draw(chart(runs, metric), theme())


def test_a_panel_per_metric_data_set_and_model(fabricate: Fabric) -> None:
    regression: list[dict[str, object]] = [{"step": s, "test/rmse": 1.0, "train/loss": 1.0} for s in (0, 5)]
    runs = [fabricate(norm="batch"), fabricate(norm="batch", model="mlp")]
    runs += [fabricate(norm="batch", dataset="houses", table=regression, columns=REGRESSION)]
    labels = [axes.get_ylabel() for axes in figure(runs).axes]
    assert labels == ["train loss", "test accuracy (%)"] * 2 + ["train loss", "test rmse"]
    assert {panel.title for panel in chart(runs).panels.values()} == {"digits · cnn", "digits · mlp", "houses · cnn"}
    assert len(figure(runs, "test/rmse").axes) == 1


def test_accuracy_is_in_percent_and_the_line_the_mean_over_seeds(fabricate: Fabric) -> None:
    made = figure([fabricate(0.9, seed=0), fabricate(0.7, seed=1)], "test/accuracy")
    assert made.axes[0].lines[0].get_ydata()[-1] == pytest.approx(80.0)
    assert len(made.axes[0].collections) == 1


def test_divergence_is_a_cross_and_does_not_set_the_scale(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", table=losses(2, 1)), fabricate(table=losses(3, 1e30), status="diverged")]
    made = figure(runs, "train/loss")
    assert made.axes[0].get_ylim()[1] < 30
    (cross,) = [line for line in made.axes[0].lines if line.get_marker() == "x"]
    assert cross.get_ydata()[0] == made.axes[0].get_ylim()[1]
    assert "1 of 1 diverged" in caption(chart(runs, "train/loss"))


def test_an_early_spike_leaves_the_panel_marked_and_named(fabricate: Fabric) -> None:
    """Beside it everything else would be one line; a run that stays far up is no spike."""
    curve = (2.3, 2.0, 1.5, 1.2, 1.0)
    runs = [fabricate(norm="batch", table=losses(1e4, *curve[1:])), fabricate(norm="none", table=losses(*curve))]
    (axes,) = figure(runs, "train/loss").axes
    high = axes.get_ylim()[1]
    assert axes.get_yscale() == "linear"
    assert high < 3
    (triangle,) = [line for line in axes.lines if line.get_marker() == "^"]
    assert (triangle.get_xdata(), triangle.get_ydata()) == ([10.0], [high])
    assert "Triangles: beyond the panel's top there. Batch norm, up to 10,000." in caption(chart(runs, "train/loss"))
    stays = [runs[1], fabricate(norm="layer", table=losses(1e4, 2e3, 1e3, 1e3, 1e3))]
    assert figure(stays, "train/loss").axes[0].get_ylim()[1] > 1e4
    assert "Triangles" not in caption(chart(stays, "train/loss"))


def test_a_run_that_diverged_has_a_cross_and_no_triangle(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", table=losses(2, 1, 1e30), status="diverged"), fabricate(table=losses(3, 2, 1))]
    assert {line.get_marker() for line in figure(runs, "train/loss").axes[0].lines} == {"x", ""}
    assert "Triangles" not in caption(chart(runs, "train/loss"))


def test_a_caption_says_how_many_runs_the_lines_have(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", seed=0), fabricate(norm="batch", seed=1), fabricate(norm="none")]
    assert "Lines: mean over 1 to 2 runs" in caption(chart(runs))


def test_markers_at_the_sides_are_whole(fabricate: Fabric) -> None:
    """Two schemes of nearly one colour have markers, the first and the last of which the panel's sides would cut."""
    runs = [
        fabricate(norm=norm, table=losses(2.0, 1.5, 1.0 + i / 10)) for i, norm in enumerate(("dynamic_tanh", "batch"))
    ]
    (axes,) = figure(runs, "train/loss").axes
    whole = [line for line in axes.lines if not line.get_clip_on() and line.get_marker() not in ("", "None")]
    assert sorted(float(line.get_xdata()[0]) for line in whole) == [10.0, 10.0, 30.0, 30.0]


def test_log_axis_only_for_losses_that_span_enough(fabricate: Fabric) -> None:
    scales = [figure([fabricate(table=losses(2.0, end))], "train/loss").axes[0].get_yscale() for end in (0.01, 0.1, 0)]
    assert scales == ["log", "linear", "linear"]


@pytest.mark.parametrize("count", [1, 8, 14])
def test_no_text_is_cut_or_overlaps_and_no_name_is_missing(fabricate: Fabric, count: int) -> None:
    runs = [fabricate(0.1 + i / 15, norm="mean_only", epochs=i + 1, model__name="resnet18") for i in range(count)]
    made = figure(runs)
    assert_clean(made)
    names = [text.get_text() for text in texts(made) if text.get_text().startswith("Mean-only batch norm")]
    assert len(names) == count


def test_a_legend_is_not_cut_in_a_narrow_figure(fabricate: Fabric) -> None:
    cells = [(norm, rate) for norm in ("none", "batch", "layer") for rate in (0.01, 0.1)]
    runs = [fabricate(0.1 + i / 15, norm=norm, optim__lr=rate) for i, (norm, rate) in enumerate(cells)]
    narrow = theme("paper", "3.3in")
    with settings(narrow):
        assert_clean(draw(chart(runs), narrow))


def accuracies(*values: float, every: int = 10) -> list[dict[str, object]]:
    return [{"step": i * every, "validation/accuracy": v} for i, v in enumerate(values)]


def test_lines_that_end_close_together_are_enlarged_beside(fabricate: Fabric) -> None:
    columns = ("step", "validation/accuracy")
    curves = {"batch": (0.1, 0.9, 0.98, 0.99, 0.99), "none": (0.1, 0.7, 0.97, 0.98, 0.985)}
    runs = [fabricate(norm=norm, table=accuracies(*curve), columns=columns) for norm, curve in curves.items()]
    whole, part = figure(runs, "validation/accuracy").axes
    assert part.get_title(loc="left") == "enlarged"
    assert whole.get_ylim()[0] < 20
    assert part.get_xlim() == (20, 40)
    assert part.get_ylim() == pytest.approx((96.9, 99.1))
    assert len(figure(runs[:1], "validation/accuracy").axes) == 1  # one line hides none
    apart = fabricate(norm="layer", table=accuracies(0.1, 0.5, 0.6, 0.6, 0.7), columns=columns)
    assert len(figure([*runs, apart], "validation/accuracy").axes) == 1


def test_every_data_set_has_its_own_steps(fabricate: Fabric) -> None:
    runs = [fabricate(table=losses(2, 1)), fabricate(dataset="mnist", table=losses(2, 1, every=500))]
    assert [axes.get_xlim() for axes in figure(runs, "train/loss").axes] == [(0, 20), (0, 1000)]


def test_names_and_panels_fit_a_figure_of_large_text(fabricate: Fabric) -> None:
    """Three inches of a slide: a panel in a row, and a name of two lines."""
    runs = [fabricate(norm=norm) for norm in ("weight_mean_only", "batch")]
    narrow = theme("slide", "3.3in")
    with settings(narrow):
        made = draw(chart(runs), narrow)
        assert_clean(made)
    assert len({axes.get_subplotspec().colspan.start for axes in made.axes}) == 1


@pytest.mark.slow
def test_files_are_the_same_bytes_again(fabricate: Fabric) -> None:
    run, *_ = [fabricate(norm=norm, seed=seed) for norm in ("batch", "none") for seed in (0, 1)]
    paths = plot_command([str(run.path.parent)], formats=["png", "svg", "pdf"])
    assert [path.name for path in paths] == ["curves.png", "curves.svg", "curves.pdf", "curves.md"]
    first = [path.read_bytes() for path in paths]
    matplotlib.rcParams["axes.labelcolor"] = "red"  # the user's own settings must not matter
    try:
        again = plot_command([str(run.path.parent)], formats=["png", "svg", "pdf"])
        assert [path.read_bytes() for path in again] == first
        assert matplotlib.rcParams["axes.labelcolor"] == "red"
    finally:
        matplotlib.rcdefaults()
    words = {element.text for element in ElementTree.fromstring(first[1]).iter() if element.tag.endswith("text")}
    assert {"train loss", "Batch norm", "step"} <= words
    assert str(run.path.parent).encode() not in first[1]
    assert b"DejaVuSans" in first[2]
    assert b"mean over 2 runs" in first[3]


@pytest.mark.slow
def test_the_environment_changes_no_figure(fabricate: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(fabricate(norm="batch", seed=0).path)
    plain = [each.read_bytes() for each in plot_command([path], formats=["png", "svg", "pdf"])]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "x")
    assert [each.read_bytes() for each in plot_command([path], formats=["png", "svg", "pdf"])] == plain
    assert os.environ["SOURCE_DATE_EPOCH"] == "x"


@pytest.mark.slow
def test_a_backend_that_does_not_exist_is_no_reason_not_to_draw(fabricate: Fabric) -> None:
    path = fabricate(norm="batch", seed=0).path
    command = [sys.executable, "-m", "normexp", "plot", str(path)]
    done = subprocess.run(command, env={**os.environ, "MPLBACKEND": "nonsense"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (path / "curves.png").exists()


def test_places_of_the_figure(fabricate: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normexp.report.figures.formats._image", lambda figure, name: name.encode())
    run = fabricate()
    assert plot_command([str(run.path)])[0] == run.path / "curves.png"
    assert plot_command([str(run.path)], str(tmp_path / "new"))[1] == tmp_path / "new" / "curves.svg"
    assert plot_command([str(run.path)], str(tmp_path / "v1.5"))[0] == tmp_path / "v1.5" / "curves.png"
    assert plot_command([str(run.path)], metric="test/loss")[0] == run.path / "curves-test-loss.png"
    monkeypatch.chdir(run.path.parent)
    assert plot_command([run.path.name])[0] == Path(run.path.name, "curves.png")
    monkeypatch.chdir(run.path)
    assert plot_command(["."])[0] == Path("curves.png")


def test_by_makes_the_lines(fabricate: Fabric) -> None:
    """Runs that agree in the named keys are averaged; the others do not tell lines apart."""
    for norm, rate in (("none", 0.1), ("none", 0.2), ("batch", 0.1)):
        fabricate(norm=norm, optim__lr=rate)
    drawn = curves_of(folder_frame(find_runs([fabricate.root])), by=["norm"])
    assert list(drawn.styles) == ["No norm", "Batch norm"]
    assert lines_of(drawn, next(iter(drawn.by_panel())))[0].runs == 2


@pytest.mark.parametrize("by", [(), ("norm",)])
def test_an_arm_is_put_into_words_once(fabricate: Fabric, monkeypatch: pytest.MonkeyPatch, by: Sequence[str]) -> None:
    """It was for every value of every evaluation: the page of 800 short runs took half a minute longer."""
    for seed in range(3):
        for norm in ("none", "batch"):
            fabricate(norm=norm, seed=seed)
    asked: list[str] = []
    monkeypatch.setattr("normexp.report.figures.runs.of_arm", lambda name: asked.append(name) or name)
    curves_of(folder_frame(find_runs([fabricate.root])), by=by)
    assert sorted(set(asked)) == ["batch", "none"]
    assert len(asked) <= 4  # twice where further keys make the lines


def test_a_filter_keeps_the_runs_that_have_the_value(fabricate: Fabric) -> None:
    run, *_ = [fabricate(norm=norm) for norm in ("batch", "layer", "none")]
    paths = plot_command([str(run.path.parent), "norm=batch,layer"], formats=["svg"])
    words = {element.text for element in ElementTree.parse(paths[0]).iter() if element.tag.endswith("text")}
    assert {"Batch norm", "Layer norm"} <= words
    assert "No norm" not in words


@pytest.mark.slow
def test_width_and_style(fabricate: Fabric) -> None:
    sizes = {style: theme(style).font for style in ("paper", "page", "slide")}
    assert sizes["paper"] < sizes["page"] < sizes["slide"]
    assert theme("paper", "84mm").width == pytest.approx(84 / 25.4)
    run = fabricate()
    (png, _) = plot_command([str(run.path)], formats=["png"], style="paper", width="3.3in")
    assert int.from_bytes(png.read_bytes()[16:20]) == 660


def test_labels_are_plain_text(fabricate: Fabric) -> None:
    """matplotlib reads $ as mathematics, and an odd formula would end in a traceback."""
    run = fabricate(norm="batch", model__name="$\\frac{$")
    assert plot_command([str(run.path), str(fabricate(norm="batch", note="$\\bad{$").path)])


def test_a_run_with_a_single_evaluation(fabricate: Fabric) -> None:
    assert plot_command([str(fabricate(table=rows(0.5, (0,))).path)])


def test_unfinished_runs_have_no_curves(fabricate: Fabric) -> None:
    with pytest.raises(UserError, match=r"no finished run to plot \(failed: 1, running: 1\)"):
        plot_command([str(fabricate(norm=s, status=s).path) for s in ("running", "failed")])


@pytest.mark.slow
def test_figures_of_an_experiment_for_a_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Path(__file__).parents[3] / "results"
    words = ["report", "normprop_constants", f"results_dir={results}"]
    assert main([*words, "--out", str(tmp_path), "--format", "pdf", "--style", "paper", "--width", "84mm"]) == 0
    folder = tmp_path / "normprop_constants" / "paper"
    assert sorted(path.name for path in folder.iterdir()) == ["figures.md", "singular_value.pdf"]
    assert "All 5 runs agree." in (folder / "figures.md").read_text()
    assert main([*words, "--format", "pdf"]) == 2
    assert "--format, --style and --width go with --out DIR" in capsys.readouterr().err


def test_formats_are_given_one_by_one_or_in_a_list():
    assert check_formats(["png,svg", "pdf"]) == ("png", "svg", "pdf")


@pytest.mark.slow
def test_a_file_is_the_same_whichever_others_are_made_beside_it() -> None:
    """matplotlib's layout went on from that of the format before: an SVG by itself was another one."""

    def make(theme: Theme) -> Figure:
        figure = Figure(figsize=(theme.width, 4), layout="constrained")
        for axes in figure.subplots(1, 2):
            axes.plot([1, 2, 3], [10_000, 2, 1e-3])
            axes.set(xlabel="step", ylabel="train loss", title="digits")
        return figure

    together = images(make, theme(), ("png", "svg", "pdf"))
    for formats in (("svg",), ("pdf",), ("svg", "png"), ("png", "pdf")):
        assert images(make, theme(), formats) == {f".{name}": together[f".{name}"] for name in formats}
