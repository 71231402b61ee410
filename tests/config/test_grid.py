"""A grid as typed -> the overrides of every cell."""

import pytest

from normexp.config.grid import expand
from normexp.config.intervals import read_interval
from normexp.errors import UserError

GRIDS = {
    "one value": ("seed=3", ["seed=3"]),
    "list of values": ("norm=none,batch", ["norm=none", "norm=batch"]),
    "range": ("seed=range(3)", ["seed=0", "seed=1", "seed=2"]),
    "range of decimals": ("optim.lr=range(0.1,0.5,0.1)", [f"optim.lr={value}" for value in (0.1, 0.2, 0.3, 0.4)]),
    "range that excludes its end": ("optim.lr=range(1,0.7,-0.1)", [f"optim.lr={value}" for value in (1.0, 0.9, 0.8)]),
    "range with a step": ("optim.lr=range(0.1,0.3,0.1)", ["optim.lr=0.1", "optim.lr=0.2"]),
    "choice": ("seed=choice(4,2)", ["seed=4", "seed=2"]),
    "glob": ("norm=glob(l*)", ["norm=layer"]),
    "glob without some": ("norm=glob(ba*,exclude=*re*)", ["norm=batch"]),
    "texts like numbers stay as typed": (
        "dataset.target=1.10,010",
        ["dataset.target=1.10", "dataset.target=010"],
    ),
    "thousands": ("dataset.subset=1_000,2_000", ["dataset.subset=1_000", "dataset.subset=2_000"]),
    "a list is one value": ("model.widths=[8,4]", ["model.widths=[8,4]"]),
    "letters beyond ASCII": ("dataset.target=größe,n", ['dataset.target="größe"', "dataset.target=n"]),
    "lists": ("model.widths=[8,4],[2]", ["model.widths=[8,4]", "model.widths=[2]"]),
    "a quoted comma": ("dataset.archive='a,b',null", ["dataset.archive='a,b'", "dataset.archive=null"]),
    "duplicates stay": ("seed=1,1", ["seed=1", "seed=1"]),
    "a plus is kept, for composing to refuse": ("+seed=1,2", ["+seed=1", "+seed=2"]),
    "a tilde is kept": ("~norm=batch,layer", ["~norm=batch", "~norm=layer"]),
    "a package is kept": ("norm@model=batch,layer", ["norm@model=batch", "norm@model=layer"]),
}


@pytest.mark.parametrize(("override", "values"), GRIDS.values(), ids=GRIDS)
def test_grid_values_of_one_key(override, values):
    assert expand([override]) == [(value,) for value in values]


def test_grid_is_the_product_with_the_last_key_fastest():
    cells = [f"{norm} {seed}" for norm, seed in expand(["norm=none,batch", "seed=0,1"])]
    assert cells == ["norm=none seed=0", "norm=none seed=1", "norm=batch seed=0", "norm=batch seed=1"]


def test_grid_of_nothing_is_one_cell():
    assert expand([]) == [()]


REFUSED = {
    "interval": ("optim.lr=interval(0,1)", "no finite list of values; use range()"),
    "range among values": ("seed=range(3),7", "seed=range(3),7: range(), choice(), interval() and glob() stand alone"),
    "glob among values": ("norm=none,glob(w*)", "stand alone; write the values out"),
    "interval among values": ("optim.lr=0.1,interval(0.1,1)", "stand alone; write the values out"),
    "range in a list": ("model.widths=[range(3)]", "stand alone; write the values out"),
    "empty range": ("seed=range(0)", "seed=range(0): has no values"),
    "glob of a number": ("seed=glob(*)", "glob() chooses options of a group; seed is none"),
    "glob of nothing": ("norm=glob(q*)", "matches no option; there are none, batch"),
    "range that stands still": ("optim.lr=range(0,1,0)", "optim.lr=range(0,1,0): "),
    "range without end": (
        "threads=range(100000000)",
        "a sweep of 2 x more than 100,000 runs; at most 100,000 are allowed",
    ),
    "product without end": ("threads=range(60000)", "threads: a sweep of 2 x 60,000 runs"),
    "underscores elsewhere": (
        "dataset.subset=1_0,2",
        "dataset.subset=1_0,2: 1_0 is no number as people write it; write 10",
    ),
    "underscores in a range": ("dataset.subset=range(1_0)", "1_0 is no number"),
    "not an override": ("norm", "is not key=value"),
}


@pytest.mark.parametrize(("override", "message"), REFUSED.values(), ids=REFUSED)
def test_grid_refuses(override, message):
    with pytest.raises(UserError) as refused:
        expand(["seed=1,2", override])
    assert message in str(refused.value)


def test_an_interval_has_one_tag():
    """`tag(lgo,interval(...))` was drawn evenly, and nothing was said."""
    assert read_interval("optim.lr", "tag(log,interval(0.1,1))").log
    with pytest.raises(UserError, match=r"tag 'lgo' does not exist; allowed: log; did you mean log\?"):
        read_interval("optim.lr", "tag(lgo,interval(0.1,1))")
