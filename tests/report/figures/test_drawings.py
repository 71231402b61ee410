"""Every kind of figure is drawn, and can be read."""

import numpy as np
import pytest
from drawn import Made, assert_clean, learning, made, texts
from fabricated import Fabric
from figure_kinds import FIGURE, HERE, full
from matplotlib.figure import Figure
from matplotlib.text import Text

from normexp.errors import UserError
from normexp.experiments.figure_kinds import MODELS
from normexp.report.drawing import Drawn
from normexp.report.figures.formats import settings, theme
from normexp.report.figures.kinds import KINDS
from normexp.report.figures.picture import draw
from normexp.report.figures.words import of_arm

pytestmark = pytest.mark.slow  # every kind of figure is drawn; the others of this folder are quick


def test_every_kind_of_the_schema_can_be_drawn() -> None:
    assert set(KINDS) == set(MODELS) == set(FIGURE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_clean(two: Made, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr("normexp.report.figures.drawn.draw", lambda *given: figures.append(draw(*given)) or figures[-1])
    drawn = two.draw(kind=kind, **FIGURE[kind])
    assert set(drawn.files) == {"x.svg"}
    assert str(two.fabric.root).encode() not in drawn.files["x.svg"]
    if kind in ("curves", "contour"):  # the first of the grammar and the first of a picture of its own
        assert two.draw(kind=kind, **FIGURE[kind]) == drawn
    assert drawn.markdown().startswith("![A title](x.svg)\n\n")
    assert_clean(figures[0])


def test_names_are_no_markup_in_the_page_of_a_figure() -> None:
    hostile = Drawn("x", "A [b](c)\n\n# *d*", "Lines <img src=x> of _all_ | `e`.", {"my x](y).svg": b""})
    assert hostile.markdown() == (
        r"![A \[b\](c) # \*d\*](my%20x%5D%28y%29.svg)" + "\n\n" + r"Lines \<img src=x\> of \_all\_ \| \`e\`." + "\n"
    )


def test_twelve_arms_stay_readable(fabricate: Fabric) -> None:
    names = ("none", "batch", "layer", "instance", "group", "weight", "mean_only", "rms", "spectral", "online")
    arms = {name: {"norm": name} for name in names}
    arms |= {f"batch at rate {rate}": {"norm": "batch"} for rate in (0.3, 1.0)}
    many = full(fabricate, arms=arms, grid={"seed": [0, 1], "batch_size": [8, 16]})
    for kind in ("curves", "against", "bars", "heat", "multiples", "steps_to_target"):
        figure = many.figure(kind=kind, **FIGURE[kind], **({} if "axis" in FIGURE[kind] else HERE))
        assert_clean(figure)
        if kind in ("curves", "against", "multiples"):
            shown = {text.get_text().lower() for text in texts(figure)}
            assert len(shown & {of_arm(name).lower() for name in arms}) == 12


def test_a_legend_is_below_and_takes_no_width(two: Made) -> None:
    figure = two.figure(kind="against", metric="test/accuracy", axis="batch_size", log=["x"])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    (axes,) = figure.axes
    assert legend.get_window_extent().y1 <= axes.get_tightbbox().y0  # type: ignore[union-attr]
    assert axes.bbox.width > 0.85 * figure.bbox.width


@pytest.mark.parametrize("style", ["page", "paper", "slide"])
def test_a_sample_in_the_legend_shows_dashes_at_both_sides_of_its_mark(fabricate: Fabric, style: str) -> None:
    """One mark and two dashes looked like a solid line."""
    arms = {"BN": {"norm": "batch"}, "BN, fast": {"norm": "batch"}, "No norm": {"norm": "none"}}
    chart = full(fabricate, arms=arms, grid={"seed": [0, 1], "batch_size": [8, 16]}).chart(
        kind="against", **FIGURE["against"]
    )
    with settings(theme(style)):
        (legend,) = draw(chart, theme(style)).legends
    for name, sample in zip(chart.styles, legend.get_lines(), strict=True):
        dashes = [each * sample.get_linewidth() for each in chart.styles[name].dashes]
        assert np.ptp(sample.get_xdata()) >= 2 * sum(dashes) + sum(dashes[:1]) - 0.01
    assert any(chart.styles[name].dashes for name in chart.styles)


def test_a_paper_has_its_title_in_the_caption_alone(two: Made) -> None:
    assert two.figure(kind="curves", metric="test/loss", **HERE).get_suptitle()
    chart = two.chart(kind="curves", metric="test/loss", **HERE)
    with settings(theme("paper")):
        assert not draw(chart, theme("paper")).get_suptitle()


def test_examples_are_not_joined_by_lines(two: Made) -> None:
    spec = {"kind": "lines", "table": "surface", "x": "w", "y": "loss", "by": "b", "joined": False, **HERE}
    figure = two.figure(**spec, arms=["With BN"])
    drawn = [line for line in figure.axes[0].lines if len(line.get_xydata())]  # no medians are
    marked = [line for line in drawn if line.get_marker() not in ("", "None")]
    assert [line.get_linewidth() for line in marked] == [0.0, 0.0, 0.0]
    assert len({line.get_marker() for line in marked}) == 3


def test_the_name_of_a_reference_is_beside_the_panel(two: Made) -> None:
    """Inside, curves would run through it."""
    figure = two.figure(kind="curves", metric="test/loss", reference=[{"at": 0.5, "text": "the best"}], **HERE)
    figure.draw_without_rendering()
    (name,) = [text for text in figure.findobj(Text) if text.get_text() == "the best"]
    assert name.get_window_extent().x0 >= figure.axes[0].bbox.x1


def test_smoke_scale_is_marked_a_preview(fabricate: Fabric) -> None:
    smoke = full(fabricate, "smoke", grid={"seed": [0, 1], "batch_size": [8]})
    for kind in ("curves", "bars", "heat"):
        found = smoke.figure(kind=kind, **FIGURE[kind]).findobj(Text)
        assert "preview" in [text.get_text() for text in found], kind


def test_first_seed_unless_said_otherwise(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(learning)
    experiment.tables("own", lambda arm, seed: [{"x": 0, "y": seed}, {"x": 1, "y": seed}])
    heights = [
        experiment.chart(kind="lines", table="own", x="x", y="y", **more).data["y"][0] for more in ({}, {"seed": 2})
    ]
    assert heights == [0, 2]


def test_multiples_have_a_panel_per_layer_or_per_arm(two: Made) -> None:
    layers = two.chart(kind="multiples", statistic="p85", labels={"hidden.0": "first"}, **HERE)
    assert [panel.title for panel in layers.panels.values()] == ["first", "hidden.1"]
    arms = two.chart(kind="multiples", statistic="p85", layers=["hidden.1"], panels="arm", **HERE)
    assert [panel.title for panel in arms.panels.values()] == ["Plain", "With BN"]
    figure = two.figure(kind="multiples", statistic="p85", layers=["hidden.1"], panels="arm", **HERE)
    assert figure.axes[1].lines[0].get_ydata()[-1] == 101  # 100 + the mean of the seeds 0, 1, 2


def test_percentiles_are_those_of_their_probe_alone(two: Made) -> None:
    chart = two.chart(kind="percentiles", layer="hidden.0", **HERE)
    assert set(chart.data["level"]) == {"15th percentile", "median", "85th percentile"}


def test_a_layer_has_panels_of_its_own_statistics_alone(two: Made) -> None:
    chart = two.chart(kind="multiples", statistic=["p85", "std"], layers=["hidden.1", "hidden.0.0"], **HERE)
    assert list(chart.panels) == ["p85 hidden.1", "std hidden.0.0"]


@pytest.mark.parametrize("lacking", ["RMS", "Mean"])
def test_an_arm_without_the_statistic_has_no_line(fabricate: Fabric, lacking: str) -> None:
    """Of a probe that measures scale-invariant weights alone, say; lines with marks and without."""
    arms = {"RMS": {"norm": "rms"}, "Mean": {"norm": "weight_mean_only"}, "BN": {"norm": "batch"}}
    experiment = full(fabricate, arms=arms, grid={"seed": [0, 1], "batch_size": [8]})
    steps = (0, 10, 20)
    row = {"probe": "effective_rate", "layer": "output.weight"}
    experiment.probes(
        lambda arm, seed: [
            {
                "step": step,
                **row,
                "statistic": "output_change" if arm == lacking else "effective_rate",
                "value": 1 + seed,
            }
            for step in steps
        ]
    )
    figure = experiment.figure(kind="multiples", statistic="effective_rate", layers=["output.weight"])
    assert sorted({len(line.get_xdata()) for line in figure.axes[0].lines if line.get_linestyle() != "None"}) == [0, 3]
    words = " ".join(text.get_text() for text in figure.findobj(Text))
    if lacking == "RMS":  # one of its runs diverged, which a cross says
        assert lacking in words
        return
    assert [name for name in arms if name in words] == [name for name in arms if name != lacking]
    said = experiment.caption(kind="multiples", statistic="effective_rate", layers=["output.weight"])
    assert f"Without a value, so without a line: {lacking}, batch size 8." in said


def test_unfinished_runs_are_left_out_and_none_at_all_is_one_line(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.statuses = {("Plain", seed): "running" for seed in range(3)}
    experiment.run(learning)
    assert experiment.draw(kind="curves", metric="test/loss")
    with pytest.raises(UserError, match="no run of its arms is finished"):
        experiment.draw(kind="curves", metric="test/loss", arms=["Plain"])
    with pytest.raises(UserError, match="no run with seed 0 is finished"):
        experiment.draw(kind="lines", table="t", x="x", y="y", arms=["Plain"])


def test_arms_differ_where_runs_do(two: Made) -> None:
    ends = two.chart(kind="bars", metric="test/accuracy", **HERE).data
    assert ends.groupby("line")["ended"].sum().to_dict() == {"Plain": 1, "With BN": 0}
    assert np.isfinite(ends.loc[~ends["ended"], "value"]).all()
