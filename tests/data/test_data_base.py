"""Holding out, subsets and standardized targets."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from normexp.config import compose, option
from normexp.config.instantiate import instantiate
from normexp.config.options import is_description
from normexp.data import mnist1d
from normexp.data.base import Data, Dataset, Split, balanced, empty_like, hold_out
from normexp.data.covariate_shift import CovariateShift
from normexp.data.digits import Digits
from normexp.data.pixel_sequences import SequentialDigits
from normexp.data.targets import in_float32, standardize_target
from normexp.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Numbered(Dataset):
    """300 examples that carry their number, 3 unequal classes."""

    def read(self, seed: int) -> Data:
        labels = np.repeat([0, 1, 2], [150, 100, 50])
        train = Split(np.arange(300, dtype=np.float32)[:, None], labels)
        return Data(train, empty_like(train), train, task="classification", classes=("a", "b", "c"))


def numbers(split: Split) -> set[int]:
    return set(split.x[:, 0].astype(int).tolist())


def test_hold_out_keeps_the_splits_disjoint_and_complete() -> None:
    data = Numbered(validation=60).load(0)
    assert len(data.validation) == 60
    assert numbers(data.train) | numbers(data.validation) == set(range(300))
    assert not numbers(data.train) & numbers(data.validation)


def test_hold_out_is_class_balanced() -> None:
    data = Numbered(validation=60).load(0)
    assert np.bincount(data.validation.y).tolist() == [20, 20, 20]


def test_a_validation_split_of_its_own_is_not_asked_for_another_one() -> None:
    """It was taken whatever dataset.validation said, under a name for each value."""

    class Split3(Numbered):
        def read(self, seed: int):
            return hold_out(super().read(seed), 30, 0)

    assert len(Split3().load(0).validation) == 30
    with pytest.raises(UserError, match=r"dataset\.validation=0\.3: .*Split3 has a validation split of its own; leave"):
        Split3(validation=0.3).load(0)


def test_share_is_held_out_of_every_class() -> None:
    data = Numbered(validation=0.2).load(0)
    assert np.bincount(data.validation.y).tolist() == [30, 20, 10]
    assert numbers(data.train) | numbers(data.validation) == set(range(300))


def test_subset_differs_by_at_most_one_between_classes() -> None:
    data = Numbered(subset=100).load(0)
    counts = np.bincount(data.train.y)
    assert counts.sum() == 100
    assert counts.max() - counts.min() <= 1


def test_label_noise_draws_labels_of_the_training_split_anew_and_no_others() -> None:
    clean, noisy = Digits().load(0), Digits(label_noise=0.5).load(0)
    changed = (clean.train.y != noisy.train.y).mean()
    assert abs(changed - 0.5 * 0.9) < 0.05  # a tenth of those that are drawn get the label that they had
    assert (clean.validation.y == noisy.validation.y).all()
    assert (clean.test.y == noisy.test.y).all()
    assert (clean.train.x == noisy.train.x).all()
    assert (Digits(label_noise=0.5).load(7).train.y == noisy.train.y).all()  # the same for every seed
    assert (Digits(label_noise=0.5, split_seed=1).load(0).train.y != noisy.train.y).any()


def test_random_labels_are_equally_likely() -> None:
    counts = np.bincount(Digits(label_noise=1).load(0).train.y)
    assert (abs(counts - counts.mean()) < 40).all()


def test_center_crop_is_the_middle_of_every_split() -> None:
    whole, cut = Digits().load(0), Digits(center_crop=5).load(0)
    for split in ("train", "validation", "test"):
        assert (getattr(cut, split).x == getattr(whole, split).x[:, 1:6, 1:6]).all()
    assert cut.input_shape == (1, 5, 5)


@pytest.mark.parametrize("data", [Digits(center_crop=9), SequentialDigits(center_crop=1)])
def test_center_crop_needs_images_of_so_many_pixels(data) -> None:
    with pytest.raises(UserError, match=r"^dataset.center_crop=\d: needs images of so many pixels, an example has "):
        data.load(0)


def test_smaller_subset_is_contained_in_larger() -> None:
    subsets = [numbers(Numbered(subset=count, validation=30).load(0).train) for count in (10, 47, 160, 270)]
    assert all(small < large for small, large in pairwise(subsets))


def test_smaller_subset_of_a_regression_is_contained_in_larger() -> None:
    split = Split(np.zeros((50, 1)), np.zeros((50, 1), dtype=np.float32))
    small, large = (set(balanced(split, count, "regression", 0).tolist()) for count in (5, 20))
    assert small < large


def test_subset_takes_what_a_small_class_has_and_fills_from_the_others() -> None:
    data = Numbered(subset=240).load(0)
    assert np.bincount(data.train.y).tolist() == [95, 95, 50]


def test_subset_and_hold_out_do_not_depend_on_the_run_seed() -> None:
    first, second = (Digits(subset=50).load(seed) for seed in (0, 1))
    assert first.fingerprint == second.fingerprint


def test_split_seed_chooses_other_examples() -> None:
    first, second = (Numbered(validation=60, split_seed=seed).load(0) for seed in (0, 1))
    assert numbers(first.validation) != numbers(second.validation)


HERE = ("digits", "sequential_digits", "mnist1d", "house_prices", "adding", "copy", "covariate_shift", "cloze")
SMALL = {"examples": 40, "test": 4, "side": 4, "length": 6, "delay": 2}
WISHED = {"validation": 5, "subset": 10, "label_noise": 0.5, "order": "permuted", "shuffled": True}


@pytest.mark.parametrize("name", HERE)
def test_the_split_seed_draws_what_the_option_says_and_nothing_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`dataset.split_seed` is refused without these keys: it would make runs of another name and the same data."""
    monkeypatch.setattr(mnist1d, "lines", cache(mnist1d.lines))  # half a second each time
    node = option("dataset", name)
    wishes = {key: WISHED[key] for key in node["_split_seed_draws_"] if key in WISHED}
    small = {key: value for key, value in SMALL.items() if key in node} | {"validation": 0}

    def fingerprints(**given: object) -> set[str]:
        values = {key: value for key, value in node.items() if not is_description(key)} | small | given
        return {instantiate({**values, "split_seed": seed}).load(0).fingerprint for seed in range(3)}

    assert len(fingerprints()) == 1
    assert all(len(fingerprints(**{key: wish})) == 3 for key, wish in wishes.items())


@pytest.mark.parametrize(("source", "validation"), {"lecture": 100, "synthetic": 0}.items())
def test_a_split_seed_that_draws_nothing_is_refused(source: str, validation: int) -> None:
    """The lecture's four rows are all three splits, whatever dataset.validation says."""
    words = ["dataset=house_prices", "model=mlp", f"dataset.source={source}", f"dataset.validation={validation}"]
    with pytest.raises(UserError, match=r"dataset\.split_seed=1 with dataset=house_prices: nothing is drawn with it"):
        compose([*words, "dataset.split_seed=1"])
    assert compose([*words, "dataset.split_seed=1", "dataset.subset=2"])["dataset"]["split_seed"] == 1


def test_subset_larger_than_the_training_split_is_refused() -> None:
    with pytest.raises(UserError, match=r"dataset\.subset=301: the training split has 300 examples"):
        Numbered(subset=301).load(0)


def test_validation_that_leaves_no_training_example_is_refused() -> None:
    with pytest.raises(UserError, match=r"dataset\.validation=300: the training split has only 300"):
        Numbered(validation=300).load(0)


def test_hold_out_of_nothing_leaves_everything() -> None:
    data = Numbered().read(0)
    assert len(hold_out(data, 0, seed=0).train) == 300
    assert np.shares_memory(hold_out(data, 0, seed=0).train.x, data.train.x)  # a memory map is not read


def test_standardized_targets_have_mean_0_and_deviation_1_on_the_training_split() -> None:
    raw, scaled = (CovariateShift(standardize_target=on).load(0) for on in (False, True))
    assert scaled.train.y.mean() == pytest.approx(0, abs=1e-6)
    assert scaled.train.y.std() == pytest.approx(1, abs=1e-6)
    restored = scaled.test.y * scaled.target_scale + raw.train.y.mean()
    np.testing.assert_allclose(restored, raw.test.y, atol=1e-5)


def test_several_targets_cannot_be_standardized() -> None:
    """One scale would stand for all of them, and errors would be in the units of the first."""
    data = CovariateShift(standardize_target=False).load(0)
    twice = data.map(lambda split: replace(split, y=np.repeat(split.y, 2, axis=1)))
    with pytest.raises(UserError, match="an error of several targets has no unit"):
        standardize_target(twice)


def test_class_labels_cannot_be_standardized() -> None:
    with pytest.raises(UserError, match="only targets of a regression"):
        Numbered(standardize_target=True).load(0)


@pytest.mark.parametrize(("step", "said"), [(0.5, False), (0.1, True)])
def test_targets_are_said_to_be_rounded_where_a_digit_is_lost(step: float, said: bool) -> None:
    split = Split(np.zeros((4, 1), np.float32), step * np.arange(4)[:, None])
    rounded = in_float32(Data(split, split, split, "regression"))
    assert rounded.train.y.dtype == np.float32
    assert ("targets rounded to float32" in rounded.note) == said
