"""Colours: enough contrast, distinct schemes without a list of them, arms of one scheme told apart."""

from itertools import combinations
from pathlib import Path

import pytest

from normexp.report.figures.styles import (
    COLOURS,
    CONTRAST,
    NEAR,
    SHADES,
    LineStyle,
    contrast,
    dark_to_light,
    distance,
    of_arms,
    of_scheme,
    shade,
)

SCHEMES = sorted(path.stem for path in (Path(__file__).parents[3] / "configs" / "norm").glob("*.yaml"))


def test_every_scheme_has_a_style_of_its_own() -> None:
    styles = {(of_scheme(name).color, of_scheme(name).marker) for name in SCHEMES}
    assert len(styles) == len(SCHEMES)
    assert of_scheme("my_own") == LineStyle("#2A86A5", marker=">")  # by its name alone, so in every process
    assert of_scheme("my_norms.Median") == of_scheme("Median")  # as an experiment and a run name it


def test_schemes_of_nearly_one_colour_have_markers_that_differ() -> None:
    styles = [of_scheme(name) for name in SCHEMES]
    near = [(a, b) for a, b in combinations(styles, 2) if distance(a.color, b.color) < NEAR]
    assert near
    assert [pair for pair in near if pair[0].marker == pair[1].marker] == []


@pytest.mark.parametrize("color", [*COLOURS, "#000000"])
def test_every_colour_and_shade_can_be_seen_on_white(color: str) -> None:
    shades = [shade(color, place) for place in range(len(SHADES))]
    assert len(set(shades)) == len(SHADES)
    assert min(map(contrast, shades)) >= CONTRAST
    assert min(contrast(style.color) for style in dark_to_light(10)) >= CONTRAST
    assert contrast("#56B4E9") < CONTRAST  # sky blue, which it was


def test_arms_of_one_scheme_differ_in_shade_and_dash() -> None:
    styles = of_arms({"a": "batch", "b": "batch", "plain": "none"})
    assert styles["a"].color != styles["b"].color
    assert styles["a"].dashes != styles["b"].dashes
    assert styles["a"].color == of_scheme("batch").color.lower()


def test_twenty_arms_of_one_scheme_beside_another_all_look_different() -> None:
    styles = of_arms({"layer": "layer", **{f"batch {i}": "batch" for i in range(20)}})
    assert len({(style.color, style.dashes) for style in styles.values()}) == 21


def test_more_arms_of_a_scheme_than_there_are_shades_have_colours_of_their_own() -> None:
    styles = of_arms({"batch": "batch", **{f"start {i}": "none" for i in range(7)}})
    assert len({style.color for style in styles.values()}) == 8
    assert list(styles) == ["batch", *(f"start {i}" for i in range(7))]
    assert len({of_arms({"batch": "batch", "a": "none", "b": "none"})[arm].color for arm in ("a", "b")}) == 2


def test_where_all_arms_have_one_scheme_their_colours_are_their_own() -> None:
    assert len({style.color for style in of_arms(dict.fromkeys("abcdef", "batch")).values()}) == 6
    rates = of_arms({f"gamma 0.{i}": "batch" for i in range(5)})
    assert [contrast(style.color) for style in rates.values()] == sorted(
        (contrast(style.color) for style in rates.values()), reverse=True
    )


def test_shades_of_arms_that_differ_in_a_number_go_from_dark_to_light() -> None:
    schemes = {f"{scheme}, batch size {size}": scheme for scheme in ("batch", "none") for size in (8, 16, 32)}
    styles = of_arms(schemes)
    for scheme in ("batch", "none"):
        found = [contrast(styles[arm].color) for arm in schemes if schemes[arm] == scheme]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == 3
    assert list(styles) == list(schemes)


def test_schemes_of_nearly_one_colour_have_their_markers() -> None:
    styles = of_arms({"batch": "batch", "frn": "filter_response", "layer": "layer"})
    assert "" != styles["batch"].marker != styles["frn"].marker != ""
    assert styles["layer"].marker == ""
    assert distance("#000000", "#FFFFFF") == pytest.approx(765, abs=1)


def test_a_single_arm_has_the_colour_of_its_scheme() -> None:
    assert of_arms({"Inception": "none"})["Inception"].color == of_scheme("none").color


def test_schemes_of_one_colour_differ_in_dash_and_marker() -> None:
    by_color: dict[str, list[str]] = {}
    for name in SCHEMES:
        by_color.setdefault(of_scheme(name).color, []).append(name)
    one, other = next(names for names in by_color.values() if len(names) > 1)[:2]
    styles = of_arms({one: one, other: other, "none": "none"})
    assert styles[one].marker != styles[other].marker
    assert styles[one].dashes != styles[other].dashes
    assert styles["none"].marker == ""
