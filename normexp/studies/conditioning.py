"""What inputs without zero mean and unit variance do to gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from normexp.config import Config
from normexp.config.instantiate import instantiate
from normexp.data.base import Array, Data, Split
from normexp.data.inputs import InputNorm, Transform
from normexp.errors import UserError
from normexp.seeding import generator
from normexp.studies.arithmetic.descent import Descent, Quadratic
from normexp.studies.arithmetic.update_signs import share_of_units, updates
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.training.build import build_model, build_norm
from normexp.training.task import task_of

DRAWN = 3  # eigenvectors in the figure of the paths: the first, the middle and the last one
POINTS = 200  # steps at which a path is looked at


@dataclass(frozen=True, kw_only=True)
class Conditioning(Study):
    """Eigenvalues of E[x x^T] of the training inputs, and how gradient descent on a squared error fares with them.

    Descent is exact, on the whole split, in float64, and starts at distance 1 from the minimum along every
    eigenvector, so that no target's direction matters. Updates are those of the network's first layer.

    Args:
        patch: side of the square patches that are cut out of images at random, one per image; None takes all of x.
        count: number of inputs, at most.
        subtract: False keeps the linear part of the input normalization, T(x) - T(0): scaled, but not centred.
        rate: of the descent, in units of 1 / (largest eigenvalue).
        share: of the starting error at which an eigenvector's error counts as gone.
        signs: number of inputs whose updates are looked at, first one by one, then in batches of `batch_size`.

    Source: Arpit, Normalization Techniques (slides), "What happens if input samples are not 0 mean and unit
    variance?"; LeCun, Bottou, Orr & Mueller 1998, "Efficient BackProp", section 5.
    """

    patch: int | None = None
    count: int = 10_000
    subtract: bool = True
    rate: float = 1.0
    share: float = 0.01
    signs: int = 256

    def measure(self, context: StudyContext) -> Outcome:
        split = self.inputs(context.config, context.data)
        loss = Quadratic.of(split.x.reshape(len(split), -1).astype(np.float64))
        descent = Descent(loss, self.rate / loss.values[0])
        steps = descent.steps_to(self.share)
        places = _places(int(steps.max()))
        metrics = {
            **spectrum(loss),
            **rates(loss),
            "steps": int(steps.max()),
            "steps_by_condition": float(steps.max() / loss.condition),
            "path": descent.path_length(places),
            **self._signs(context, split),
        }
        tables = {
            "spectrum": _spectrum_table(loss, steps),
            "paths": list(_paths_table(descent, places[places > 0])),
        }
        return Outcome([{"step": 0, **metrics}], tables)

    def inputs(self, config: Config, data: Data) -> Split:
        """Return at most `count` normalized training inputs, float32 (N, D) or (N, H, W, C), with their targets."""
        chosen = torch.randperm(len(data.train), generator=generator(config["seed"], "inputs"))[: self.count]
        split = data.train.take(np.sort(chosen.numpy()))
        x = split.x if self.patch is None else _patches(split.x, self.patch, config)
        inputs: InputNorm = instantiate(config["inputs"])
        return Split(self._applied(inputs.fit(x), x), split.y)

    def _applied(self, transform: Transform, x: Array) -> Array:
        applied = transform.apply(x)
        return applied if self.subtract else applied - transform.apply(np.zeros_like(x[:1]))

    def _signs(self, context: StudyContext, split: Split) -> dict[str, float]:
        few = split.take(np.arange(min(self.signs, len(split))))
        x, y = torch.from_numpy(few.x), torch.from_numpy(few.y)
        x = x.permute(0, 3, 1, 2) if x.dim() == 4 else x
        task = task_of(context.data)
        model = build_model(context.config, build_norm(context.config), tuple(x.shape[1:]), context.data.num_outputs)
        sizes = {"same_sign": 1, "same_sign_in_batches": context.config["batch_size"]}
        return {name: share_of_units(updates(model, task, x, y, size)) for name, size in sizes.items()}


def _patches(images: Array, side: int, config: Config) -> Array:
    """Cut one square out of every image, (N, H, W, C), at a random place. Raises UserError where none fits."""
    if images.ndim != 4 or min(images.shape[1:3]) < side:
        size = f"{images.shape[1]} x {images.shape[2]} pixels" if images.ndim == 4 else "no images"
        raise UserError(f"study.patch={side}: dataset={config.choices['dataset']} has {size}")
    source, (n, height, width) = generator(config["seed"], "patches"), images.shape[:3]
    top = torch.randint(0, height - side + 1, (n, 1), generator=source).numpy() + np.arange(side)
    left = torch.randint(0, width - side + 1, (n, 1), generator=source).numpy() + np.arange(side)
    return images[np.arange(n)[:, None, None], top[:, :, None], left[:, None, :]]


def spectrum(loss: Quadratic) -> dict[str, float]:
    return {
        "lambda_max": float(loss.values[0]),
        "lambda_min": float(loss.values[-1]),
        "condition": loss.condition,
        "rank": len(loss.values),
    }


def rates(loss: Quadratic) -> dict[str, float]:
    """Return the largest rate that converges and the largest without oscillation, by bisection."""
    stable, smooth = loss.largest_stable(), loss.largest_smooth()
    largest = float(loss.values[0])
    return {
        "stable_rate": stable,
        "stable_rate_by_lambda": stable * largest,
        "smooth_rate_by_lambda": smooth * largest,
    }


def _places(last: int) -> Array:
    """Return 0 and about POINTS steps up to `last`, evenly spaced on a logarithmic axis."""
    return np.unique([0, *np.rint(np.geomspace(1, last, POINTS)).astype(np.int64)])


def _spectrum_table(loss: Quadratic, steps: Array) -> list[Row]:
    ratio = loss.values[0] / loss.values
    columns = zip(loss.values, ratio, steps, strict=True)
    return [
        {"index": i, "eigenvalue": float(value), "ratio": float(each), "steps": int(count)}
        for i, (value, each, count) in enumerate(columns, start=1)
    ]


def _paths_table(descent: Descent, places: Array) -> Iterator[Row]:
    """Yield the size of the error along a few eigenvectors, the first one that of the largest eigenvalue."""
    last = len(descent.loss.values)
    drawn = np.unique(np.rint(np.linspace(1, last, min(DRAWN, last))).astype(np.int64))
    for step in places:
        errors = np.abs(descent.errors(int(step)))
        yield from ({"step": int(step), "index": int(i), "error": float(errors[i - 1])} for i in drawn)
