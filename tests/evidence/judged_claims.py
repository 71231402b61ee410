"""Claims as an experiment file has them, and their verdicts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from claim_maker import check_claim, claim_data
from curve_maker import METRIC, along, finals

from normexp.evidence.claims import Claim, Verdict, judge
from normexp.evidence.curves import Curves

NAN = math.nan
ARMS = ("BN", "LN", "plain")
METRICS = (METRIC, "train/loss", "probe/width")
AXES = {"batch_size": [2, 16, 128], "optimizer": ["sgd", "adam"]}
GOOD = [0.951, 0.953, 0.952, 0.954, 0.950]
BAD = [0.901, 0.905, 0.902, 0.903, 0.900]
WILD = [0.99, 0.70, 0.95, 0.80, 0.97]


def claim(word: str, **keys: Any) -> Claim:
    metric = {} if word in ("diverges", "converges") else {"metric": METRIC}
    return check_claim(claim_data(word, **{**metric, **keys}), ARMS, METRICS, AXES)


def verdict(curves: Curves, word: str, **keys: Any) -> Verdict:
    return judge([claim(word, **keys)], curves)[0]


def said(curves: Curves, word: str, **keys: Any) -> str:
    return verdict(curves, word, **keys).verdict


# Along an axis


def grid(values: Mapping[Any, Sequence[float]], axis: str = "batch_size") -> Curves:
    return along("BN", axis, {each: finals(of_seeds) for each, of_seeds in values.items()})
