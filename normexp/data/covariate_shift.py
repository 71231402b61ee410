"""Two domains, one law: the simulation that motivates normalization."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from normexp.data.base import Array, Data, Dataset, Split, check_fits, empty_like
from normexp.data.files.progress import logger
from normexp.data.streams import numpy_generator
from normexp.errors import UserError, unknown

DENSITIES = ("box", "normal")
FEW = 0.1  # share of the training split below which importance weighting rests on too few examples
ROUNDING = 1e-6  # x is float32: at the side of a box it may lie this far outside


@dataclass(frozen=True, kw_only=True)
class CovariateShift(Dataset):
    """P(Y|X) is one, P(X) differs: training and validation are from domain A, the test from domain B.

    Shapes: x float32 (examples, dimension), y float32 (examples, 1). With u the unit vector along (1, ..., 1)
    the centres lie at -shift/2 u and +shift/2 u. Every coordinate of x is uniform in a box of side `width`
    around its domain's centre, and y = sin(u.x + 1) + noise * N(0, 1). The phase of 1 makes the law neither
    odd nor even: it rises in domain A and falls in B, so what is learned in one does not carry over.

    Args:
        dimension: number of inputs.
        shift: distance between the domains' centres; 0 makes them equal.
        width: side of each domain's box.
        noise: standard deviation of the noise on y.
        examples: number of examples in the training domain, before `validation` are held out, and in the test's.
        density: `box`, or `normal` with the variance of that box in every coordinate.
        domain: where training and validation come from: `a`, `b`, or half of the examples from `both`. The test
            split is the same for all of them.
        test_domain: where the test split comes from, `a` or `b`.
        importance_weights: draw the training split again, as often as before, each example with a probability
            proportional to p_test(x) / p_train(x), which is known here. Validation stays as it is.

    Source: Arpit, "Normalization Techniques" (slides), Motivation 1: "Design: P(X) is different but P(Y|X) is
    identical". The slides print no formula; law, boxes and normal densities are ours. Importance weights:
    Shimodaira 2000, "Improving predictive inference under covariate shift by weighting the log-likelihood
    function", as resampling.
    """

    dimension: int = 1
    shift: float = 3.0
    width: float = 2.0
    noise: float = 0.1
    examples: int = 1000
    density: str = "box"
    domain: str = "a"
    test_domain: str = "b"
    importance_weights: bool = False
    validation: float = 200

    def read(self, seed: int) -> Data:
        self._check_names()
        size = 8 * self.examples * self.dimension
        check_fits(size, f"dataset=covariate_shift with {self.examples:,} examples of {self.dimension:,} inputs")
        rng = numpy_generator(seed, "covariate_shift")
        train_a, test_b, test_a, train_b = (self._domain(rng, name) for name in "abab")
        from_a = np.arange(self._from_a)
        rest = np.arange(self.examples - self._from_a)
        train = _joined(train_a.take(from_a), train_b.take(rest))
        return Data(train, empty_like(train), {"a": test_a, "b": test_b}[self.test_domain], task="regression")

    def load(self, seed: int) -> Data:
        data = super().load(seed)
        return replace(data, train=self._reweighted(data.train, seed)) if self.importance_weights else data

    def importance(self, x: Array) -> Array:
        """Return p_test(x) / p_train(x) up to a factor, (N,), of training inputs (N, D): the largest is 1.

        Raises UserError where it is 0 for all of them.
        """
        share = self._from_a / self.examples
        with np.errstate(divide="ignore"):  # a share of 0 has the logarithm -inf, and no say
            shares = {"a": np.log(share), "b": np.log(1 - share)}
        parts = [self._log_density(x, name) + shares[name] for name in "ab"]
        ratio = self._log_density(x, self.test_domain) - np.logaddexp(*parts)
        if np.isneginf(ratio).all():
            raise UserError(
                f"dataset.importance_weights=true: no training example lies where domain {self.test_domain} does "
                f"(dataset.shift={self.shift}, dataset.width={self.width}); "
                "use dataset.density=normal, dataset.domain=both or a smaller shift"
            )
        return np.asarray(np.exp(ratio - ratio.max()))

    @property
    def _from_a(self) -> int:
        """How many training examples come from domain A; the others are from B."""
        return {"a": self.examples, "b": 0, "both": (self.examples + 1) // 2}[self.domain]

    def _check_names(self) -> None:
        allowed = {"density": DENSITIES, "domain": ("a", "b", "both"), "test_domain": ("a", "b")}
        for key, names in allowed.items():
            if getattr(self, key) not in names:
                raise unknown(f"dataset.{key}", getattr(self, key), names)

    def _centre(self, domain: str) -> Array:
        return {"a": -0.5, "b": 0.5}[domain] * self.shift * direction(self.dimension)

    def _domain(self, rng: np.random.Generator, domain: str) -> Split:
        size = (self.examples, self.dimension)
        deviation = rng.uniform(-0.5, 0.5, size) if self.density == "box" else rng.standard_normal(size) / 12**0.5
        x = self._centre(domain) + self.width * deviation
        y = law(x) + self.noise * rng.standard_normal((self.examples, 1))
        return Split(x.astype(np.float32), y.astype(np.float32))

    def _log_density(self, x: Array, domain: str) -> Array:
        """Return log p(x), (N,), up to a constant that both domains share."""
        deviation = (x - self._centre(domain)) / self.width
        if self.density == "normal":
            return np.asarray(-6 * (deviation**2).sum(axis=1))  # the variance is 1/12
        slack = ROUNDING * (1 + self.shift / self.width)
        inside = (np.abs(deviation) <= 0.5 + slack).all(axis=1)
        return np.where(inside, 0.0, -np.inf)

    def _reweighted(self, train: Split, seed: int) -> Split:
        weights = self.importance(train.x)
        if (effective := effective_size(weights)) < FEW * len(train):
            logger.warning(
                f"importance weights: the {len(train)} training examples are worth {effective:.3g} equal ones"
            )
        return train.take(resample(weights, numpy_generator(seed, "importance weights")))


def law(x: Array) -> Array:
    """Return E[Y|X], float (N, 1), of inputs (N, D)."""
    return np.sin(x @ direction(x.shape[1])[:, None] + 1)


def effective_size(weights: Array) -> float:
    """Return how many equally weighted examples have an average as noisy as these: (sum w)^2 / sum w^2.

    Source: Kish 1965, "Survey Sampling".
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def resample(weights: Array, rng: np.random.Generator) -> Array:
    """Return N indices, sorted, each i about N w_i / sum(w) times: rounded up or down, and right on average.

    Equal weights give every index once. Source: Kitagawa 1996, "Monte Carlo filter and smoother" (systematic).
    """
    ends = np.cumsum(weights)
    points = (np.arange(len(weights)) + rng.uniform()) / len(weights)
    return np.searchsorted(ends[:-1] / ends[-1], points, side="right")


def direction(dimension: int) -> Array:
    """Return the unit vector along (1, ..., 1)."""
    return np.full(dimension, dimension**-0.5)


def _joined(first: Split, second: Split) -> Split:
    return Split(np.concatenate([first.x, second.x]), np.concatenate([first.y, second.y]))
