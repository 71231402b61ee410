"""What a figure cannot be is one line: before anything runs what its YAML says, when it is drawn what runs lack."""

from typing import Any

import pytest
from drawn import BASE, Made, made
from fabricated import Fabric
from figure_kinds import FIGURE
from one_line import one_line_error
from parsed import parse

from normexp.errors import UserError

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "metric": ({"kind": "curves", "metric": "test/acuracy"}, "metric 'test/acuracy' .*did you mean test/accuracy"),
    "one of the metrics": ({"kind": "heat", "metrics": ["test/los"]}, "metric 'test/los' .*did you mean test/loss"),
    "arm": ({"kind": "curves", "metric": "test/loss", "arms": ["Plan"]}, "arm 'Plan' .*did you mean Plain"),
    "axis": ({"kind": "bars", "metric": "test/loss", "axis": "batch"}, "axis 'batch' .*did you mean batch_size"),
    "place": ({"kind": "bars", "metric": "test/loss", "where": {"batch_size": 9}}, "value of batch_size '9'.*8, 16"),
    "relative": ({"kind": "bars", "metric": "test/loss", "relative_to": "Pln"}, "arm 'Pln' .*mean Plain"),
    "layer": ({"kind": "multiples", "statistic": "p85", "layers": ["hiden.0"]}, "'hiden.0' .*did you mean hidden.0"),
    "statistic": ({"kind": "multiples", "statistic": "p58"}, "statistic 'p58' .*p15, p50, p85, std; did you mean p85"),
    "table": ({"kind": "lines", "table": "surfac", "x": "w", "y": "b"}, "'surfac' .*did you mean surface"),
    "column": ({"kind": "lines", "table": "surface", "x": "w", "y": "los"}, "surface.csv 'los' .*did you mean loss"),
    "number": ({"kind": "lines", "table": "boxes", "x": "x0", "y": "label"}, "line 2: label is 'here', not a number"),
    "grid": ({"kind": "contour", "table": "path", "x": "x", "y": "y", "z": "x"}, "regular grid: 3 x 3 .* but 3 rows"),
    "recorded layer": ({"kind": "percentiles", "layer": "hidden 9"}, "has nothing on 'hidden 9'"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_name_that_does_not_exist_is_one_line(two: Made, spec: dict[str, Any], message: str) -> None:
    with one_line_error(message) as refused:
        two.draw(**spec)
    assert str(refused.value).startswith("experiment x: figure x")


CURVE = {"kind": "curves", "metric": "m", "x": "epoch"}
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "key": ({"kind": "against", "metric": "m", "axis": "a", "lg": ["x"]}, "key 'lg' .*did you mean log"),
    "missing key": ({"kind": "contour", "table": "t", "x": "x", "y": "y"}, "z: is missing"),
    "log axis": ({"kind": "heat", "metric": "m", "axis": "a", "log": ["y"]}, "'y' .*allowed: z"),
    "log of no axis": (
        {"kind": "curves", "metric": "m", "log": True},
        r"figures\[0\]\.log: the name 'true' does not exist; allowed: x, y$",
    ),
    "log of a number": ({"kind": "heat", "metric": "m", "axis": "a", "log": 10}, "'10' .*allowed: z"),
    "log of nothing": ({"kind": "curves", "metric": "m", "log": None}, "log: null is not a list"),
    "log of a mapping": ({"kind": "curves", "metric": "m", "log": {"x": True}}, "log: {'x': true} is not a list"),
    "arms of no name": (
        {"kind": "curves", "metric": "m", "arms": False},
        "arms: false is not a text; in quotes it is: 'false'$",
    ),
    "kind of no name": ({"kind": True, "metric": "m"}, "kind 'true' does not exist"),
    "a number that is none": (
        {"kind": "curves", "metric": "m", "reference": [{"at": True, "text": "t"}]},
        "at: true is not a number",
    ),
    "x": ({"kind": "curves", "metric": "m", "x": "epochs"}, "x: the name 'epochs' .*did you mean epoch"),
    "panels": (
        {"kind": "multiples", "statistic": "s", "panels": "layers"},
        "panels: the name 'layers' .*did you mean layer",
    ),
    "better": ({"kind": "steps_to_target", "metric": "m", "target": 0, "better": "high"}, "did you mean higher"),
    "target": ({"kind": "steps_to_target", "metric": "m", "target": "low"}, "target: 'low' is neither a number"),
    "metric and metrics": ({"kind": "heat", "metric": "m", "metrics": ["m"]}, "give either metric or metrics"),
    "neither axis nor metrics": ({"kind": "heat", "metric": "m"}, "give either axis or metrics"),
    "at": ({"kind": "bars", "metric": "m", "at": "end"}, "at: 'end' is none of last"),
    "limits": ({"kind": "curves", "metric": "m", "limits": [1, 0]}, r"\[1.0, 0.0\] is not \[LOW, HIGH\]"),
    "limits at no scale": ({"kind": "curves", "metric": "m", "limits": {"cpu": [0, 1], "papr": [0, 1]}}, "mean paper"),
    "limits of an axis": ({"kind": "curves", "metric": "m", "limits": {"z": [0, 1]}}, "'z' .*allowed: x, y"),
    "limits of names": ({"kind": "bars", "metric": "m", "limits": [0, 1]}, "limits: has no place on y .*allowed: x"),
    "a line along names": (
        {"kind": "bars", "metric": "m", "reference": [{"at": 1, "text": "chance"}]},
        "reference: has no place on y here; allowed: x$",
    ),
    "limits of a table": ({"kind": "counts", "metrics": ["m"], "limits": {"cpu": {"x": [0, 1]}}}, "allowed: none"),
    "published without x": ({**CURVE, "published": {"A": {"step": [1], "value": [1]}}}, r"published\.A: has no epoch"),
    "published without value": ({**CURVE, "published": {"A": {"epoch": [1]}}}, r"published\.A: has no value"),
    "published of two lengths": (
        {**CURVE, "published": {"A": {"epoch": [1, 2], "value": [1]}}},
        r"published\.A: has 2 of epoch, but 1 of value",
    ),
    "dotted": (
        {"kind": "lines", "table": "surface", "x": "w", "y": "b", "dotted": ["c"]},
        "dotted: column of y 'c' .*allowed: b",
    ),
    "no direction": (
        {"kind": "steps_to_target", "metric": "norm", "target": 2},
        "metric: .*'norm' does not tell what is better; add better",
    ),
    "together along nothing": ({"kind": "bars", "metric": "m", "together": True}, "together: needs an axis"),
}


@pytest.mark.parametrize(("spec", "message"), SHAPES.values(), ids=SHAPES)
def test_a_wrong_key_is_one_line_before_anything_runs(spec: dict[str, Any], message: str) -> None:
    with one_line_error(message) as refused:
        parse("x", "cpu", {**BASE, "figures": [{"name": "x", **spec}]})
    assert str(refused.value).startswith("experiment x (configs/experiment/x.yaml:1): figures[0]")


@pytest.mark.parametrize("kind", sorted(set(FIGURE) - {"curves", "against"}))
def test_only_lines_of_a_metric_have_a_part_shown_larger(kind: str) -> None:
    """Rows and cells counted every run twice there, and panels of their own had no place for it."""
    with one_line_error("key 'zoom' does not exist"):
        parse("x", "cpu", {**BASE, "figures": [{"name": "x", "kind": kind, **FIGURE[kind], "zoom": {"cpu": [0, 1]}}]})


def test_metric_without_a_direction_can_be_told_one(fabricate: Fabric) -> None:
    experiment = made(fabricate)
    experiment.run(lambda arm, point, random: [{"step": 0, "norm": 1.0}, {"step": 10, "norm": 3.0}])
    assert experiment.draw(kind="steps_to_target", metric="norm", target=2, better="higher")
    with pytest.raises(UserError, match="record no epoch"):
        experiment.draw(kind="curves", metric="norm", x="epoch")
