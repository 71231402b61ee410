"""An experiment that is not sound is one line."""

import copy
from types import SimpleNamespace

import pytest
from changed_experiments import SOUND, change, drop
from one_line import one_line_error
from parsed import parse

from normexp.errors import UserError
from normexp.experiments.checks.look_alikes import check_looks

STEPS = {
    "text": "BN is first", "source": "section 1", "compare": "steps", "metric": "test/accuracy", "target": 0.9,
    "of": "With BN", "than": "Plain", "in": "> 1",
}  # fmt: skip
ALONE = {"text": "BN ends there", "source": "section 1", "compare": "value", "metric": "test/accuracy", "of": "With BN"}
VALUE = {**ALONE, "in": "> 0.5"}
INTERACTION = {**ALONE, "compare": "interaction", "than": "Plain", "minus": ["Plain", "With BN"]}
EQUAL = {**ALONE, "compare": "equals"}
CURVE = {"step": [1], "value": [0.5]}
UNSOUND = {
    "unknown key": (change("tabel", to={}), "tabel: key 'tabel' does not exist", "did you mean table?"),
    "missing key": (drop("paper"), "paper: is missing"),
    "empty key": (change("title", to=""), "title: is missing"),
    "another kind": (change("claims", to={}), "claims: {} is not a list"),
    "arm is no mapping": (change("arms", "Plain", to="norm=none"), "arms.Plain: 'norm=none' is not a mapping"),
    "arm with a wrong option": (change("arms", "Plain", "norm", to="nnoe"), "arm 'Plain': norm=nnoe", "mean none?"),
    "arm with a wrong key": (change("arms", "Plain", to={"optim.rl": 1}), "arm 'Plain'", "did you mean optim.lr=1?"),
    "arm that names code": (
        change("arms", "Plain", to={"norm._target_": "os.system"}),
        "norm._target_=os.system: code outside normexp must be named",
    ),
    "arm with a plugin": (change("arms", "Plain", to={"plugins": ["os"]}), "arms.Plain.plugins: which code may be run"),
    "code inside a mapping": (change("arms", "Plain", "norm", to={"_target_": "os.system"}), "does not exist"),
    "a class of one's own": (change("arms", "Plain", to={"norm": "my_norms.Scale"}), "add 'plugins=[my_norms]'"),
    "code in the grid": (
        change("grid", "norm._target_", to=["os.system"]),
        "norm._target_=os.system: give one of the two",
    ),
    "code that is searched": (change("select", "search", to={"plugins": [["os"]]}), "select.search.plugins: which"),
    "code of a scale": (change("scales", "cpu", "common", to={"plugins": ["os"]}), "scales.cpu.common.plugins: which"),
    "arms in one folder": (change("arms", "With (BN)", to={}), "'With BN' and 'With (BN)' would share a folder"),
    "arms in one folder on macOS": (
        change("arms", "with bn", to={}),
        "arms.with bn: 'With BN' and 'with bn' would share a folder",
    ),
    "arm that is the folder above": (
        change("arms", "..", to={}),
        "arms...: an arm's name is its folder's",
        "'..' is none",
    ),
    "arm without a letter": (change("arms", "(?)", to={}), "'' is none; it needs a letter or a digit"),
    "arm without a name": (change("arms", "", to={}), "'' is none; it needs a letter or a digit"),
    "arm of 300 letters": (change("arms", "é" * 150, to={}), "it would have 300 bytes, at most 200"),
    "values of long names": (
        change("grid", "model.widths", to=[[8], [100] * 80]),
        "grid: the values are a folder's name: it would have",
    ),
    "values in one folder": (
        lambda data: data.update(
            common={"dataset": "csv", "dataset.task": "classification", "dataset.validation": 9, "model": "mlp"},
            grid={"seed": [0], "dataset.target": ["a b", "a(b"]},
        ),
        "grid.dataset.target: 'a b' and 'a(b' would share the folder seed=0,dataset.target=-a-b",
    ),
    "refused arm that would run": (
        change("refused", to={"Plain LN": {"norm": "layer"}}),
        "refused: 'Plain LN' would be run",
    ),
    "refused arm with a wrong option": (
        change("refused", to={"X": {"norm": "bach"}}),
        "refused: 'X': norm=bach",
        "batch",
    ),
    "impossible arm": (change("grid", "batch_size", to=[1]), "arm 'With BN': batch_size=1 with norm=batch"),
    "seed is no list": (change("grid", "seed", to=3), "grid.seed: 3 is not a list of values", "; did you mean [3]?"),
    "seed is a truth value": (
        change("grid", "seed", to=True),
        "grid.seed: true is not a list of values",
        "; did you mean [true]?",
    ),
    "a truth value twice": (change("grid", "compile", to=[True, True]), "grid.compile: true stands there twice"),
    "a claim in nothing": (change("claims", 0, "in", to=None), "claims[0].in: null is"),
    "seed is a range": (
        change("grid", "seed", to="range(1,4)"),
        "grid.seed: 'range(1,4)' is not a list of values",
        "; did you mean [1, 2, 3]?",
    ),
    "seed is a long range": (
        change("grid", "seed", to="range(1000)"),
        "grid.seed: 'range(1000)' is not a list of values",
    ),
    "seed is an empty range": (
        change("grid", "seed", to="range(4,1)"),
        "grid.seed: 'range(4,1)' is not a list of values",
    ),
    "no values": (change("grid", "batch_size", to=[]), "grid.batch_size: [] is not a list of values"),
    "scale with a wrong key": (change("scales", "cpu", "gird", to={}), "cpu.gird: key 'gird'", "did you mean grid?"),
    "arms of a scale that are no mapping": (
        change("scales", "cpu", "arms", to=["Plain"]),
        "cpu.arms: ['Plain'] is not",
    ),
    "arm of another scale that is none": (
        change("scales", "cpu", "arms", to={"With NB": {"norm.var": "unbiased"}}),
        "scales.cpu.arms.With NB: arm 'With NB' does not exist; allowed: Plain, With BN; did you mean With BN?",
    ),
    "arm of a scale with a wrong key": (
        change("scales", "smoke", to={"arms": {"With BN": {"norm.vra": "unbiased"}}}),
        "experiment x (configs/experiment/x.yaml:1), arm 'With BN': key 'norm.vra' does not exist",
        "did you mean norm.var=unbiased?",
    ),
    "arm of a scale with a plugin": (
        change("scales", "cpu", "arms", to={"Plain": {"plugins": ["os"]}}),
        "scales.cpu.arms.Plain.plugins: which code may be run",
    ),
    "arm of a scale with an axis": (
        change("scales", "smoke", to={"arms": {"Plain": {"batch_size": 4}}}),
        "scales.smoke.arms.Plain.batch_size: batch_size is an axis of the grid",
    ),
    "scale with a wrong grid": (change("scales", "cpu", "grid", "seed", to=3), "scales.cpu.grid.seed: 3 is not a list"),
    "select with a wrong key": (change("select", "serch", to={}), "select.serch: key 'serch'", "did you mean search?"),
    "select without search": (drop("select", "search"), "select.search: is missing"),
    "select of one value": (change("select", "search", to={"optim.lr": 1}), "search.optim.lr: 1 is not a list"),
    "select by a wrong metric": (change("select", "metric", to="validation/acuracy"), "mean validation/accuracy?"),
    "select without a split": (
        change("common", "dataset.validation", to=0),
        "select.metric: metric 'validation/accuracy' does not exist: no validation split",
        "; set dataset.validation=0.1 under common",
    ),
    "select for a wrong arm": (change("select", "arm", to="Plian"), "select.arm: arm 'Plian'", "did you mean Plain?"),
    "column with a wrong key": (
        change("table", "columns", to=[{"metrc": "test/loss"}]),
        "table.columns[0].metrc: key 'metrc'",
    ),
    "column of a wrong place": (
        change("table", to={"columns": [{"metric": "test/loss", "at": "end"}]}),
        "'end' is none",
    ),
    "column at a target": (
        change("table", to={"columns": [{"metric": "test/loss", "at": "last", "target": 0.5}]}),
        "columns[0]: give either at or target",
    ),
    "column to a wrong arm's best": (
        change("table", to={"columns": [{"metric": "test/loss", "target": "best of BN"}]}),
        "arm 'BN'",
        "With BN",
    ),
    "column over a wrong arm": (
        change("table", to={"columns": [{"metric": "test/loss", "target": 0.5, "than": "plain"}]}),
        "than: arm 'plain'",
        "did you mean Plain?",
    ),
    "column over an arm at no target": (
        change("table", to={"columns": [{"metric": "test/loss", "at": "last", "than": "Plain"}]}),
        "than='Plain' needs a target",
    ),
    "column relative to an arm at a target": (
        change("table", to={"columns": [{"metric": "test/loss", "target": 0.5, "relative_to": "Plain"}]}),
        "relative_to='Plain' goes with at",
    ),
    "one of several targets outside its range": (
        change("claims", 0, to={**STEPS, "target": [0.5, 1.7]}),
        "claims[0].target: 1.7 is outside the range of test/accuracy",
    ),
    "region that every accuracy is in": (
        change("claims", 0, "in", to="within 1 of 0"),
        "claims[0].in: every difference of test/accuracy is there, from -1 to 1, so nothing is claimed",
        "; 0.01, not 1, is 1 point",
    ),
    "region in percent": (change("claims", 0, "in", to="> 2 %"), "did you mean `> 0.02`?"),
    "region with a comma": (change("claims", 0, "in", to="within 0,5 of 0"), "did you mean `within 0.5 of 0`?"),
    "region that is a number": (change("claims", 0, "in", to=0.02), "did you mean `> 0.02`?"),
    "percentiles that no run measures": (
        change("figures", 0, to={"name": "a", "kind": "percentiles", "layer": "1"}),
        "figures[0].kind: no run of its arms measures percentiles; set probe=percentiles under common",
    ),
    "panels of no probe": (
        change("figures", 0, to={"name": "a", "kind": "multiples", "statistic": "mean"}),
        "figures[0].kind: no run of its arms has a probe, which would measure mean",
    ),
    "lines of a table that no run writes": (
        change("figures", 0, to={"name": "a", "kind": "lines", "table": "grid", "x": "a", "y": "b"}),
        "figures[0].kind: runs that train write no grid.csv, which is a study's to write",
    ),
    "margin of two points": (change("claims", 0, "in", to="within 2 of 0"), "; 0.02, not 2, is 2 points"),
    "difference at the end of its range": (
        change("claims", 0, "in", to="> 1"),
        "claims[0].in: no difference of test/accuracy can be there; it is from -1 to 1; 0.01, not 1, is 1 point",
    ),
    "points in which a difference cannot end": (
        change("claims", 0, "in", to=[0.5, 5]),
        "claims[0].in: 5 is outside the range of the difference of test/accuracy, which is from -1 to 1; 0.05, not 5",
    ),
    "value around a percentage": (
        change("claims", 0, to={**VALUE, "in": "within 97 of 97.5"}),
        "claims[0].in: 97.5 is outside the range of the value of test/accuracy, which is from 0 to 1; 0.975, not 97.5",
    ),
    "value at its end": (change("claims", 0, to={**VALUE, "in": "> 1"}), "no value of test/accuracy can be there"),
    "range of a loss below 0": (
        change("claims", 0, to={**VALUE, "metric": "test/loss", "at": "range", "in": "< 0"}),
        "claims[0].in: no value of test/loss can be there; it is 0 or more",
    ),
    "seconds below 0": (
        change("claims", 0, to={**VALUE, "metric": "seconds_per_step", "in": "< 0"}),
        "no value of seconds_per_step can be there; it is 0 or more",
    ),
    "interaction of two points": (
        change("claims", 0, to={**INTERACTION, "in": "> 2"}),
        "no interaction of test/accuracy can be there; it is from -2 to 2; 0.02, not 2, is 2 points",
    ),
    "equal to a percentage": (
        change("claims", 0, to={**EQUAL, "value": 97, "tolerance": 0.1}),
        "claims[0].value: 97 is outside the range of test/accuracy, which is from 0 to 1; 0.97, not 97, is 97 %",
    ),
    "equal to all there are": (
        change("claims", 0, to={**EQUAL, "value": 0.9, "tolerance": 1}),
        "claims[0].tolerance: 1 takes in the whole range of test/accuracy, from 0 to 1; 0.01, not 1, is 1 point",
    ),
    "margin without an end": (change("table", "margin", to=float("inf")), "table.margin: ", "finite"),
    "margin of the whole range": (
        change("table", "margin", to=4),
        "table.margin: 4 takes in the whole range",
        "; 0.04, not 4",
    ),
    "published nowhere": (drop("published", 0, "at"), "published[0]: give either at or target"),
    "table without metric": (drop("table", "metric"), "table: give a metric"),
    "table of a wrong metric": (change("table", "metric", to="test/acc"), "'test/acc'", "did you mean test/accuracy?"),
    "wrong baseline": (change("table", "baseline", to="plain"), "table.baseline: arm 'plain'", "did you mean Plain?"),
    "margin below 0": (change("table", "margin", to=-1), "table.margin: -1: must be above 0"),
    "no arms": (change("arms", to={}), "arms: is empty; give 1 or more"),
    "an empty grid": (change("grid", to={}), "grid: is empty; give 1 or more"),
    "a column without a name": (change("table", to={"columns": ["", "test/loss"]}), "table.columns[0]: is missing"),
    "a figure of no metric": (change("figures", 0, "metric", to=""), "figures[0].metric: is missing"),
    "a figure along no axis": (
        change("figures", 0, to={"name": "x", "kind": "against", "metric": "test/loss", "axis": ""}),
        "figures[0].axis: is missing",
    ),
    "a figure of no metrics": (
        change("figures", 0, to={"name": "x", "kind": "counts", "metrics": []}),
        "figures[0].metrics: is empty; give 1 or more",
    ),
    "an empty baseline": (change("table", "baseline", to=""), "table.baseline: is empty; say something or leave it"),
    "a data set of 3,000 letters": (
        change("arms", "Plain", to={"dataset": "x" * 3000}),
        "arm 'Plain': dataset=xxx",
        "does not exist",
    ),
    "refused for what the grid replaces": (
        change("refused", to={"Small": {"norm": "batch", "batch_size": 1}}),
        "refused.Small.batch_size: batch_size is an axis of the grid",
    ),
    "one rung": (
        change("select", "halving", to={"steps": [1], "keep": []}),
        "select.halving.steps: [1]; give 2 or more",
    ),
    "tolerance below 0": (
        change(
            "claims",
            0,
            to={
                "text": "a",
                "source": "b",
                "compare": "equals",
                "of": "Plain",
                "metric": "test/loss",
                "value": 1,
                "tolerance": -1,
            },
        ),
        "claims[0].tolerance: -1: must be 0 or more",
    ),
    "a value that is not finite": (change("table", "margin", to=float("inf")), "table.margin: inf: must be finite"),
    "published of a wrong arm": (change("published", 0, "arm", to="With B"), "arm 'With B'", "mean With BN?"),
    "published number": (
        change("published", 0, "value", to=98.3),
        "published[0].value: 98.3 is not a text; in quotes it is: '98.3'",
    ),
    "arm that is a number": (change("arms", 3, to={}), "3 is not a text; in quotes it is: '3'"),
    "published without place": (drop("published", 0, "place"), "published[0].place: is missing"),
    "published without arm": (drop("published", 0, "arm"), "published[0].arm: is missing"),
    "published words": (change("published", 0, "value", to="about all"), "published[0].value: published number"),
    "published percentage of a fraction": (drop("published", 0, "unit"), "value: '98.3' is outside the range", "'%'"),
    "figure without a name": (drop("figures", 0, "name"), "figures[0].name: is missing"),
    "figure without a kind": (drop("figures", 0, "kind"), "figures[0]: kind is missing"),
    "figure with a wrong key": (change("figures", 0, "limit", to=[]), "key 'limit'", "did you mean limits?"),
    "figure of a wrong metric": (change("figures", 0, "metric", to="tst/loss"), "did you mean test/loss?"),
    "figure of a wrong arm": (change("figures", 0, "published", to={"BN": CURVE}), "figures[0] 'curves': arm 'BN'"),
    "claim of a wrong arm": (change("claims", 0, "of", to="With B"), "claims[0] 'BN is better'", "mean With BN?"),
    "claim of a wrong metric": (change("claims", 0, "metric", to="test/los"), "did you mean test/loss?"),
    "claim of a wrong place": (change("claims", 0, "where", to={"batch_size": 9}), "value of batch_size '9'"),
    "claim without source": (drop("claims", 0, "source"), "claims[0].source: is missing"),
    "figure in another folder": (
        change("figures", 0, "name", to="../a"),
        "'../a' is no name of a file",
    ),
    "figure of the choice's name": (
        change("figures", 0, "name", to="selection"),
        "'selection' is the picture",
    ),
    "figure of the name of what is drawn by itself": (
        change("figures", 0, "name", to="Targets"),
        "figures[0].name: 'Targets' is the picture of claims about steps",
    ),
    "two figures of one name": (
        lambda data: data["figures"].append({**data["figures"][0], "name": "Curves"}),
        "figures[1].name: 'Curves' is the file of figures[0], too; give another name",
    ),
    "a column twice": (
        change("table", to={"columns": ["test/loss", {"metric": "test/loss", "at": "last"}]}),
        "table.columns[1]: columns[0] is the same",
    ),
    "two published numbers in one place": (
        lambda data: data["published"].append({**data["published"][0], "value": "98.4"}),
        "published[1]: published[0] is of the same arm and column",
    ),
    "two rows of one name that are not run": (
        change("published_only", to=[{"arm": "X", "metric": "test/accuracy", "value": "9", "place": "1"}] * 2),
        "published_only[1]: published_only[0] is of the same arm and metric",
    ),
    "figure at a target outside the range": (
        change("figures", 0, to={"name": "a", "kind": "steps_to_target", "metric": "test/accuracy", "target": 90}),
        "figures[0].target: 90 is outside the range of test/accuracy",
    ),
    "figure at a truth value": (
        change("figures", 0, "reference", to=[{"at": True, "text": "x"}]),
        "figures[0].reference[0].at: true is not a number",
    ),
    "figure with a number as a truth value": (
        change("figures", 0, to={"name": "a", "kind": "bars", "metric": "test/loss", "sort": 0}),
        "figures[0].sort: 0 is not true or false",
    ),
    "figure up to a truth value": (
        change("figures", 0, "limits", to=[0.1, True]),
        "figures[0].limits[1]: true is not a number",
    ),
    "figure of a published truth value": (
        change("figures", 0, "published", to={"Plain": {"step": [1], "value": [True]}}),
        "figures[0].published.Plain.value[0]: true is not a number",
    ),
    "figure of a true seed": (
        change("figures", 0, to={"name": "a", "kind": "percentiles", "layer": "x", "seed": True}),
        "figures[0].seed: true is not a number",
    ),
    "figure of a seed that is not run": (
        change("figures", 0, to={"name": "a", "kind": "percentiles", "layer": "x", "seed": 77}),
        "figures[0].seed: 77 is no seed of the grid; allowed: 0, 1",
    ),
    **{
        f"figure with {key} along names": (
            lambda data, key=key, given=given: data.update(
                grid={"seed": [0, 1], "model.activation": ["relu", "tanh"]},
                figures=[
                    {"name": "a", "kind": "against", "metric": "test/loss", "axis": "model.activation", key: given}
                ],
            ),
            f"figures[0].{key}: x: axis model.activation has values that are no numbers",
        )
        for key, given in {
            "log": ["x"],
            "limits": {"cpu": {"x": [0, 1]}},
            "zoom": {"cpu": {"x": [0, 1]}},
            "reference": [{"at": 0.5, "text": "half", "axis": "x"}],
        }.items()
    },
    "published in no column": (
        change("table", to={"columns": [{"metric": "test/accuracy", "at": "best"}]}),
        "published[0]: no column of the table is read off there",
    ),
    "published of another metric": (
        change("published", 0, "metric", to="train/accuracy"),
        "published[0]: metric=train/accuracy is not that of the table, test/accuracy",
    ),
    "common value that is searched": (change("common", "optim.lr", to=1), "common.optim.lr: optim.lr is searched"),
    "arm's value that is searched": (change("arms", "Plain", "optim.lr", to=1), "arms.Plain.optim.lr: optim.lr is"),
    "trials' value that is searched": (
        change("select", "common", to={"optim.lr": 1}),
        "select.common.optim.lr: optim.lr is searched",
    ),
    "trials of one seed": (
        change("select", "common", to={"seed": 1}),
        "select.common.seed: seed varies between the trials",
    ),
    "choice per axis twice": (
        change("select", "per", to=["batch_size", "batch_size"]),
        "select.per: 'batch_size' stands there twice",
    ),
    "choice of a scale without one": (
        lambda data: data.update(select=None, scales={"smoke": {"select": {"seeds": [7]}}}),
        "scales.smoke.select: there is no select that it could be laid over",
    ),
    "minutes below 0": (change("minutes", to={"cpu": -1}), "minutes.cpu: -1: must be 0 or more"),
    "arm with a terminal's controls": (change("arms", "a\x1b[31m", to={}), "has control characters"),
    "a seed twice": (change("scales", "smoke", to={"grid": {"seed": [0, 0]}}), "grid.seed: 0 stands there twice"),
    "results elsewhere": (change("common", "results_dir", to="x"), "common.results_dir: where results go is typed"),
    "a seed for all runs": (change("common", "seed", to=3), "common.seed: seed is an axis of the grid"),
    "a claim twice": (lambda data: data["claims"].append(data["claims"][0]), "text: claims[0] has the same text"),
    "table of both kinds": (change("table", "columns", to=["train/loss"]), "table: give either metric or columns"),
    "no mapping": (lambda data: data.clear(), "is missing"),
    "epochs of a scale beside steps": (
        change("scales", "smoke", to={"common": {"epochs": 1}}),
        "scales.smoke.common.epochs: steps is given, too, and would replace it; give one of the two",
    ),
    "epochs of an arm beside steps": (
        change("arms", "Plain", "epochs", to=1),
        "arms.Plain.epochs: steps is given, too",
    ),
    "epochs as an axis beside steps": (change("grid", "epochs", to=[1, 2]), "grid.epochs: steps is given, too"),
    "epochs that are searched beside steps": (
        change("select", "search", to={"epochs": [1, 2]}),
        "select.search.epochs: steps is given, too",
    ),
    "epochs that a scale searches beside steps": (
        change("scales", "smoke", to={"select": {"search": {"epochs": [1, 2]}}}),
        "scales.smoke.select.search.epochs: steps is given, too",
    ),
    "evaluations said in two ways": (
        change("common", to={"dataset": "digits", "model": "mlp", "steps": 5, "eval_every": 1, "evals_per_epoch": 2}),
        "common.evals_per_epoch: eval_every is given, too, and would replace it; give one of the two",
    ),
    "evaluations of trials in two ways": (
        change("select", "common", to={"eval_every": 1, "evals_per_epoch": 2}),
        "select.common.evals_per_epoch: eval_every is given, too",
    ),
    "epochs beside steps": (change("common", "epochs", to=1), "common.epochs: steps is given, too"),
    "minutes of no scale": (change("minutes", to={"desk": 1}), "minutes.desk: scale 'desk' does not exist"),
    "label of nothing": (
        change("figures", 0, "labels", to={"With Bn": "BN"}),
        "figures[0].labels.With Bn: nothing in the figure has this name",
        "did you mean With BN?",
    ),
    "an arm drawn twice": (
        change("figures", 0, "arms", to=["Plain", "Plain"]),
        "figures[0].arms: 'Plain' stands there twice",
    ),
    "a metric drawn twice": (
        change("figures", 0, to={"name": "a", "kind": "counts", "metrics": ["test/loss"] * 2}),
        "figures[0].metrics: 'test/loss' stands there twice",
    ),
    "a target twice": (change("claims", 0, to={**STEPS, "target": [0.9, 0.9]}), "claims[0].target: 0.9 stands there"),
    "an arm compared with twice": (
        change("claims", 0, "than", to=["Plain", "Plain"]),
        "claims[0].than: 'Plain' stands there twice",
    ),
    "target below every loss": (
        change("claims", 0, to={**STEPS, "metric": "test/loss", "target": -1.0}),
        "claims[0].target: -1 is outside the range of test/loss, which is 0 or more",
    ),
    "figure at a target below every loss": (
        change("figures", 0, to={"name": "a", "kind": "steps_to_target", "metric": "test/loss", "target": -1}),
        "figures[0].target: -1 is outside the range of test/loss, which is 0 or more",
    ),
    "loss that no run can have": (
        change("claims", 0, to={**VALUE, "metric": "test/loss", "in": "< -1"}),
        "claims[0].in: no value of test/loss can be there; it is 0 or more",
    ),
    "arms that look alike": (
        change("arms", "Pl\N{CYRILLIC SMALL LETTER A}in", to={}),
        "look alike, but for CYRILLIC SMALL LETTER A; give another name",
    ),
    "arms that differ by what nobody sees": (
        change("arms", "Pl\N{ZERO WIDTH SPACE}ain", to={}),
        "look alike, but for ZERO WIDTH SPACE; give another name",
    ),
}


def test_arms_with_the_same_letters_in_other_places_look_alike():
    odd = "\N{CYRILLIC SMALL LETTER A}"
    document = SimpleNamespace(error=lambda text, *place: UserError(f"{'.'.join(place)}: {text}"))
    with pytest.raises(UserError, match=rf"^arms\.{odd}a: 'a{odd}' and '{odd}a' look alike; give another name$"):
        check_looks(SimpleNamespace(arms=[f"a{odd}", f"{odd}a"]), document)


@pytest.mark.parametrize(("break_it", "messages"), [(one, rest) for one, *rest in UNSOUND.values()], ids=UNSOUND)
def test_experiment_that_is_not_sound_is_one_line(break_it, messages):
    data = copy.deepcopy(SOUND)
    parse("x", "smoke", data)
    break_it(data)
    with one_line_error() as refused:
        parse("x", "smoke", data)
    assert str(refused.value).startswith("experiment x")
    assert all(message in str(refused.value) for message in messages), refused.value


TREND = {**VALUE, "compare": "trend", "axis": "batch_size", "in": "> 0"}
BEYOND = {
    "claim": (change("claims", 0, "at", to="step 6"), "claims[0].at: step 6 is beyond the last one of every run, 5"),
    "column": (
        lambda data: data.update(table={"columns": [{"metric": "test/loss", "at": "step 9"}]}, published=[]),
        "table.columns[0].at: step 9 is beyond",
    ),
    "table": (
        lambda data: data.update(table={"columns": ["test/loss"], "at": "step 9"}, published=[]),
        "table.columns[0].at: step 9 is beyond",
    ),
    "figure": (
        change("figures", 0, to={"name": "a", "kind": "bars", "metric": "test/loss", "at": "step 8"}),
        "figures[0].at: step 8 is beyond",
    ),
    "trend over one value": (
        lambda data: data.update(claims=[TREND], grid={"seed": [0, 1], "batch_size": [8]}),
        "claims[0].axis: batch_size has one value, so there is no trend",
    ),
}


@pytest.mark.parametrize(("break_it", "message"), BEYOND.values(), ids=BEYOND)
def test_what_no_run_gets_to_is_refused_but_in_a_preview(break_it, message):
    data = copy.deepcopy(SOUND)
    break_it(data)
    parse("x", "smoke", data)
    with one_line_error() as refused:
        parse("x", "cpu", data)
    assert message in str(refused.value)


def test_a_printed_step_beyond_the_runs_is_refused_at_the_papers_scale_alone():
    data = copy.deepcopy(SOUND)
    data["table"] = {"columns": [{"metric": "test/accuracy", "at": "step 7"}]}
    data["published"][0]["at"] = "step 7"
    data["scales"]["paper"] = {}
    data["common"]["steps"] = 7
    parse("x", "paper", data)
    data["scales"]["paper"] = {"common": {"steps": 6}}
    data["table"] = {"metric": "test/accuracy"}
    with one_line_error() as refused:
        parse("x", "paper", data)
    assert "published[0].at: step 7 is beyond the last one of every run, 6" in str(refused.value)


CHOICES = {
    "by the test split": ({"metric": "test/accuracy"}, "select.metric: test/accuracy is not of the validation split"),
    "with a seed of the grid": ({"seeds": [100, 0]}, "select.seeds: 0 is a seed of the grid, too"),
    "of what the grid sets": ({"search": {"batch_size": [8, 16]}}, "batch_size: batch_size is an axis of the grid"),
    "with a seed twice": ({"seeds": [100, 100]}, "select.seeds: [100, 100]: a seed stands there twice"),
}


@pytest.mark.parametrize(("changed", "message"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_made_on_what_is_not_judged(changed, message):
    select = {"search": {"optim.lr": [0.1, 0.2]}, "seeds": [100], "metric": "validation/accuracy"}
    parse("x", "smoke", {**copy.deepcopy(SOUND), "select": select})
    with pytest.raises(UserError) as refused:
        parse("x", "smoke", {**copy.deepcopy(SOUND), "select": {**select, **changed}})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("seeds", "claims", "decides"), [(5, 7, False), (6, 7, True), (3, 1, False), (4, 1, True), (1, 1, False)]
)
def test_claims_that_so_few_seeds_cannot_decide_by_ranks_are_refused(seeds, claims, decides):
    data = copy.deepcopy(SOUND)
    data["scales"]["cpu"] = {"grid": {"seed": list(range(seeds))}}
    data["claims"] = [{**STEPS, "text": f"claim {i}"} for i in range(claims)]
    if decides:
        assert len(parse("x", "cpu", data).claims) == claims
        return
    with pytest.raises(UserError, match=rf"x\.yaml:1\): claims: {seeds} seeds? cannot decide {claims} claims"):
        parse("x", "cpu", data)
    data["scales"]["cpu"]["underpowered"] = "a pilot; more seeds are planned"
    assert parse("x", "cpu", data).underpowered == "a pilot; more seeds are planned"
    assert parse("x", "smoke", data).underpowered == ""


def test_printed_numbers_do_not_count_where_they_are_not_judged():
    """Before the run they were part of the family, and after it not."""
    data = copy.deepcopy(SOUND)
    data["scales"]["cpu"] = {"grid": {"seed": list(range(5))}}
    printed = {**STEPS, "in": [1, 2], "printed": True}
    data["claims"] = [STEPS, *({**printed, "text": f"claim {i}"} for i in range(6))]
    assert len(parse("x", "cpu", data).claims) == 7
