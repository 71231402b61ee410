"""Two domains, one law: what is learned in one of them, beside what is learned in the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from normexp.config import Config
from normexp.config.instantiate import instantiate
from normexp.data.base import Array, Data, Split
from normexp.data.covariate_shift import direction, law
from normexp.errors import UserError
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.studies.trained import score, trained
from normexp.training.components import Components

SPLITS = {"validation": "own_domain_rmse", "test": "other_domain_rmse"}
OTHER = {"a": "b", "b": "a"}
NAMES = {"a": "domain 1", "b": "domain 2"}
DRAWN = 200  # sampled points of each domain in the figure
AIR = 0.05  # of the examples' range, beyond them on either side


@dataclass(frozen=True, kw_only=True)
class CovariateShift(Study):
    """One network is fitted in each domain and tried in both, on examples that it was not trained with.

    Importance weights, if the data set has them, are those of the domain in which the network was not fitted.

    Args:
        points: of the curves in the figure, along the line through both domains.

    Source: Arpit, Normalization Techniques (slides), Motivation 1, "Simulation".
    """

    points: int = 201

    def measure(self, context: StudyContext) -> Outcome:
        config = context.config
        if config.choices["dataset"] != "covariate_shift":
            chosen = config.choices["dataset"]
            raise UserError(f"study=covariate_shift: dataset={chosen} has no two domains; use dataset=covariate_shift")
        data = {domain: _load(config, domain) for domain in OTHER}
        nets = {domain: trained(context, _with_both(data, domain)) for domain in OTHER}
        metrics = {
            name: _rms([score(net, net.evaluated[split]) for net in nets.values()]) for split, name in SPLITS.items()
        }
        fresh = {domain: data[OTHER[domain]].test for domain in OTHER}
        curves = self._curves(nets, fresh)
        boxes = [_box(fresh[domain], NAMES[domain]) for domain in OTHER]
        everywhere = np.concatenate([split.x for split in fresh.values()])
        first, second = (_predicted(net, everywhere) for net in nets.values())
        metrics["difference"] = _rms(first - second)
        tables: dict[str, list[Row]] = {"curves": _rows(curves), "boxes": boxes, "sample": list(_sample(fresh))}
        return Outcome([{"step": 0, **metrics}], tables)

    def _curves(self, nets: dict[str, Components], fresh: dict[str, Split]) -> dict[str, Array]:
        """Return the position along the line through the centres, the law, and what each network has learned."""
        along = np.concatenate([_along(split.x) for split in fresh.values()])
        air = AIR * (along.max() - along.min())
        position = np.linspace(along.min() - air, along.max() + air, self.points)
        x = (position[:, None] * direction(fresh["a"].x.shape[1])).astype(np.float32)
        learned = {f"learned_{domain}": _predicted(net, x) for domain, net in nets.items()}
        return {"x": position, "law": law(x)[:, 0], **learned}


def _load(config: Config, domain: str) -> Data:
    """Return the data with this domain for training; the test split is from the other one."""
    chosen = {**config["dataset"], "domain": domain, "test_domain": OTHER[domain]}
    data: Data = instantiate(chosen).load(config["seed"])
    return data


def _with_both(data: dict[str, Data], domain: str) -> Data:
    """Return the domain's data with new examples of the same domain for validation."""
    return replace(data[domain], validation=data[OTHER[domain]].test)


def _predicted(net: Components, x: Array) -> Array:
    net.model.eval()
    with torch.inference_mode():
        outputs = net.model(torch.from_numpy(net.batches.examples.transform.apply(x)).to(net.device))
    return np.asarray(outputs[:, 0].double().cpu())


def _along(x: Array) -> Array:
    """Return u.x, (N,): the position on the line through both centres."""
    return np.asarray(x.sum(axis=1) * x.shape[1] ** -0.5)


def _box(examples: Split, label: str) -> Row:
    """Return the smallest rectangle around a domain's examples."""
    along, y = _along(examples.x), examples.y
    corners = {"x0": along.min(), "x1": along.max(), "y0": y.min(), "y1": y.max()}
    return {name: float(value) for name, value in corners.items()} | {"label": label}


def _rms(values: npt.ArrayLike) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _rows(columns: dict[str, Array]) -> list[Row]:
    return [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def _sample(fresh: dict[str, Split]) -> Iterator[Row]:
    for examples in fresh.values():
        few = examples.take(np.arange(min(DRAWN, len(examples))))
        yield from ({"x": float(x), "y": float(y)} for x, y in zip(_along(few.x), few.y[:, 0], strict=True))
