"""Every sentence with numbers that come from records: who says it, its words, and what the records say.

A quote's text has a `{}` for each number. README, pages, findings and deviations may hold no other number than these,
those of quoted tables, and what `settings.py` declares to be no result.
"""

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from statistics import mean
from zipfile import ZipFile

from normexp.evidence.stats import t_interval
from tests.documents.evidence import (
    RESULTS,
    TOP,
    cell,
    claim,
    curve,
    faster,
    last,
    last_probed,
    runs,
    table,
)

Numbers = Callable[[], Sequence[float | int | str]]
TABLE, TABLE_DESK = "ioffe2015_table/cpu", "ioffe2015_table/desk"
FIGURE1, WEIGHT = "ioffe2015_figure1/paper", "salimans2016_table1/cpu"
WEIGHT_DESK = "salimans2016_table1/desk"
PROP, WHICH, DIGITS = "arpit2016_table/cpu", "which_norm_small/cpu", "digits_five_schemes/cpu"
WORDS = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
RATES = ("BN-Baseline", "BN-x5", "BN-x30")  # of Inception: one, five and thirty times its own
SPEED_UP, BEST = "speed-up over Inception to best of Inception", "test/accuracy best"
PUBLISHED_RATIOS = [31.0 / steps for steps in (13.3, 2.1, 2.7)]
SPEED = ["steps-cnn", "steps-cnn-bf16", "steps-convpool", "steps-convpool-bf16", "steps-mlp"]


@dataclass(frozen=True)
class Quote:
    """Args:
    document: README.md, or the experiment whose findings or deviations it is among.
    text: with formats for the numbers.
    numbers: what the records say.
    """

    document: str
    text: str
    numbers: Numbers

    @cached_property
    def sentence(self) -> str:
        return self.text.format(*self.numbers())


def digits_speed() -> list[float | str]:
    plain, batch = (curve(DIGITS, arm, "test/accuracy") for arm in ("none", "batch"))
    first = min(step for step in batch if step > 0)
    later = next(step for step, value in plain.items() if value > batch[first])
    return [first, 100 * batch[first], WORDS[later // first]]


def speed_ups(place: str = TABLE) -> list[float]:
    """Return the published ratios of steps, ours, and the least and the best accuracy of the networks that learn."""
    accuracies = {arm: 100 * cell(place, arm, f"{BEST} mean") for arm in table(place)}
    learned = [value for arm, value in accuracies.items() if "BN" in arm or arm == "Inception"]
    ours = [cell(place, arm, SPEED_UP) for arm in RATES]
    return [*PUBLISHED_RATIOS, *ours, min(learned), max(learned)]


def faster_and_better() -> list[float]:
    """Return the published ratios of steps, ours with their intervals, and accuracies with their deviations."""
    ratios = [cell(TABLE_DESK, arm, f"{SPEED_UP}{end}") for arm in RATES for end in ("", " low", " high")]
    arms = (*RATES, "Inception")
    accuracies = [100 * cell(TABLE_DESK, arm, f"{BEST} {part}") for arm in arms for part in ("mean", "sd")]
    return [*PUBLISHED_RATIOS, *ratios, *accuracies]


def fewer_steps() -> list[float]:
    """Return our ratio of steps and the published one of BN-Baseline, then those of BN-x5 and BN-x30."""
    ours = [cell(TABLE_DESK, arm, SPEED_UP) for arm in RATES]
    return [ours[0], PUBLISHED_RATIOS[0], *ours[1:], *PUBLISHED_RATIOS[1:]]


def folded_dearer() -> list[float]:
    """Return by how many percent of the time a folded batch norm is slower than no norm, on batches of 8."""
    arms = ("Batch norm batch_size=8", "No normalization batch_size=8")
    batch, none = (cell("inference_cost/cpu", arm, "folded_ratio mean") for arm in arms)
    return [100 * (batch - none)]


def bests_apart() -> list[float]:
    """Return by how many points BN-x30's best is ahead of BN-x5's, with its interval, and the published number."""
    found = claim(TABLE_DESK, "BN-x30 reaches the final accuracy of BN-x5")
    return [*(100 * value for value in (found["estimate"], *found["interval"])), 74.8 - 73.0]


def sigmoids_ahead() -> list[float]:
    """Return by how many points the sigmoids' best is ahead of Inception's, and the published one behind."""
    ours = [100 * cell(TABLE_DESK, arm, f"{BEST} mean") for arm in ("BN-x5-Sigmoid", "Inception")]
    return [ours[0] - ours[1], 72.2 - 69.8]


def costs(place: str, beginning: str) -> list[float]:
    """Return by how much an arm is below another in a claim, in percent or points, and its interval."""
    found = claim(place, beginning)
    return [-100 * value for value in (found["estimate"], *reversed(found["interval"]))]


def behind_batch_norm() -> list[float]:
    """Return by how many points no normalization ends behind batch normalization where the input moves and where it
    stays, and how far these two are apart, with the interval over the seeds."""
    accuracies = {
        arm: {name: 100 * float(run.rows("metrics.csv")[-1]["test/accuracy"])
              for (folder, name), run in runs("moving_input/cpu").items() if folder == arm}
        for arm in ("batch", "none", "batch,-input-stays", "none,-input-stays")
    }  # fmt: skip
    moves, stays = (
        {seed: accuracies[f"batch{how}"][seed] - plain for seed, plain in accuracies[f"none{how}"].items()}
        for how in ("", ",-input-stays")
    )
    interval = t_interval([moves[seed] - stays[seed] for seed in moves])
    assert interval is not None
    behind = [mean(moves.values()), mean(stays.values())]
    return [*behind, behind[0] - behind[1], interval.low, interval.high]


def lower_epochs() -> list[int]:
    """Return after how many epochs layer normalization has the lower mean training loss, in batches of either size."""
    layer, batch = (
        [mean_losses("ba2016_figure6/cpu", arm, f"batch_size={size},") for size in (128, 4)]
        for arm in ("LayerNorm", "BatchNorm")
    )
    ahead = [all(a < b for a, b in zip(ours, theirs, strict=True))
             for ours, theirs in zip(zip(*layer, strict=True), zip(*batch, strict=True), strict=True)]  # fmt: skip
    return [sum(ahead), len(ahead), 128, 4]


def mean_losses(place: str, arm: str, point: str) -> list[float]:
    """Return the mean training loss of every epoch over the runs of an arm whose point begins so."""
    found = [run.rows("metrics.csv")[1:] for (folder, name), run in runs(place).items()
             if folder == arm and name.startswith(point)]  # fmt: skip
    return [mean(float(row["train/loss"]) for row in rows) for rows in zip(*found, strict=True)]


def finite_runs() -> list[int]:
    states = [run.status["status"] for run in runs("arpit2016_batch_size_1/cpu").values()]
    return [states.count("done"), len(states)]


def after_10000() -> list[float]:
    row = table(FIGURE1)["Without BN, step 10000"]
    return [100 * float(row["test/accuracy mean"]), 100 * float(row["published test accuracy"])]


def higher_accuracy() -> list[float]:
    entry = claim(FIGURE1, "Training with batch normalization helps the network achieve higher accuracy")
    row = table(FIGURE1)["With BN, step 49000"]
    printed, ours = float(row["published test accuracy"]), float(row["test/accuracy mean"])
    higher = [100 * each for each in (entry["estimate"], *entry["interval"])]
    return [*higher, entry["n"], 100 * (printed - ours), 100 * printed]


def table1_errors() -> list[float]:
    """Return the test errors of the arms at desk scale, in percent, the best first."""
    return sorted(100 * float(row["test/error mean"]) for row in table(WEIGHT_DESK).values() if row["test/error mean"])


def in_percent(place: str, *arms: str, control: str) -> list[float]:
    """Return the published test errors of these arms, then mean and standard deviation of ours and of a control."""
    published = [float(table(place)[arm]["published test error"].rstrip("%")) for arm in arms]
    columns = ("test/error mean", "test/error sd")
    return published + [100 * cell(place, arm, column) for arm in (*arms, control) for column in columns]


def weight_errors() -> list[float]:
    names = ("ours, W.N. + mean-only B.N.", "our CNN, batch norm.", "our CNN, weight norm.", "our CNN, normal param.")
    return in_percent(WEIGHT_DESK, *names, control="normal param., rate 0.003")


def points_behind() -> list[str]:
    """Return by how many points weight normalization is behind the best arm, and at either rate none behind it."""
    weight, none, at_its_rate = (
        100 * cell(WEIGHT_DESK, arm, "test/error mean")
        for arm in ("our CNN, weight norm.", "our CNN, normal param.", "normal param., rate 0.003")
    )
    return [WORDS[round(points)] for points in (weight - table1_errors()[0], none - weight, at_its_rate - weight)]


def at_one_rate() -> list[float]:
    """Return by how many points the normal parameterization at weight normalization's rate is behind it, by seed."""
    plain, weight = (
        last(WEIGHT_DESK, arm, "test/accuracy") for arm in ("normal-param.,-rate-0.003", "our-CNN,-weight-norm.")
    )
    interval = t_interval([100 * (w - p) for p, w in zip(plain, weight, strict=True)])
    assert interval is not None
    return [100 * (mean(weight) - mean(plain)), interval.low, interval.high]


def arms_of_mnist1d() -> Counter[str]:
    """Return how many runs of each arm of mnist1d_schemes are recorded at scale cpu."""
    names = ZipFile(TOP / "results/mnist1d_schemes/cpu/records.zip").namelist()
    return Counter(name.split("/")[1] for name in names if name.endswith("/status.json"))


def speed_row(side: str) -> Callable[[], list[float]]:
    return lambda: [faster(suite)[side] for suite in SPEED if side in faster(suite)]


def best_script() -> list[float]:
    return [min(faster(suite)["script_0"], faster(suite)["script_2"]) for suite in SPEED[:-1]]


def rows_apart() -> list[float]:
    ours = [100 * cell(PROP, arm, "test/error mean") for arm in ("Batch Normalization", "NormProp", "NIN")]
    theirs = [
        float(table(PROP)[arm]["published test error"].strip("%")) for arm in ("Batch Normalization", "NormProp", "NIN")
    ]
    gaps = [[b - a for a, b in pairwise(rows)] + [rows[2] - rows[0]] for rows in (ours, theirs)]
    return [min(gaps[0]), max(gaps[0]), min(gaps[1]), max(gaps[1])]


def he_start() -> list[float]:
    gained = []
    for size in (128, 8):
        he, plain = (
            mean(last(WHICH, arm, "test/accuracy", f"batch_size={size},")) for arm in ("none,-init=he", "none")
        )
        gained.append(100 * (he - plain))
    return gained


def ahead() -> list[float]:
    errors = {arm: 100 * float(row["test/error mean"]) for arm, row in table(WEIGHT).items() if row["test/error mean"]}
    printed = [
        float(table(WEIGHT)[arm]["published test error"].strip("%"))
        for arm in errors
        if table(WEIGHT)[arm]["published test error"]
    ]
    arms = [arm for arm in errors if table(WEIGHT)[arm]["published test error"]]
    best = min(errors[arm] for arm in arms)
    return [errors["our CNN, normal param."] - best, max(printed) - min(printed)]


def by_target() -> list[dict[str, float]]:
    """Return the speed-up of batch normalization at every target, in % of accuracy, with who never gets there."""
    with (RESULTS / FIGURE1 / "targets.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    keys = ("target", "speed_up", "low", "high", "baseline never", "arm never")
    return [{key: float(row[key]) for key in keys} for row in rows]


def half_and_even() -> list[float]:
    """Return the first and the last target of half the steps, then ratio and interval of two of about as many, and
    these two."""
    half = [row["target"] for row in by_target() if row["speed_up"] >= 2]
    even = [row for row in by_target() if abs(row["speed_up"] - 1) < 0.1]
    ratios = [row[key] for row in even for key in ("speed_up", "low", "high")]
    return [100 * min(half), 100 * max(half), *ratios, *(100 * row["target"] for row in even)]


def least_speed_up() -> list[float]:
    """Return the claim's speed-up with its interval, which is that at the target of 96 %."""
    verdict = claim(FIGURE1, "Training with batch normalization helps the network train faster")
    assert "to test/accuracy 0.96 " in verdict["evidence"]
    return [verdict["estimate"], *verdict["interval"]]


def sure_of() -> list[float]:
    """Return the last target, how many runs without batch normalization meet it, of how many; with it all do."""
    last_row = by_target()[-1]
    assert last_row["arm never"] == 0
    runs_of_arm = sum(arm == "Without-BN" for arm, _ in runs(FIGURE1))
    return [100 * last_row["target"], int(runs_of_arm - last_row["baseline never"]), runs_of_arm]


def noise() -> list[str]:
    """Return the share of batch normalization's noise that batch-wise data bring, as the nearest simple fraction."""
    place, names = "arpit2016_data_normalization/cpu", {"2/3": "two thirds", "4/5": "four fifths"}
    shares = [
        cell(place, f"NormProp, batch-wise batch_size={size}", "batch_noise mean")
        / cell(place, f"Batch Normalization, global batch_size={size}", "batch_noise mean")
        for size in (50, 10)
    ]
    return [names.get(str(Fraction(share).limit_denominator(5)), "?") for share in shares]


def corrected_pools(table: str = PROP) -> list[float]:
    """Return the least and largest deviation behind the pools at the end, mean over the runs that stayed finite."""
    layers = [f"features.{i}.0" for i in (5, 6, 10, 11)]
    ends = [mean(last_probed(table, "NormProp,-pools-corrected", layer, "unit_std_mean")) for layer in layers]
    return [min(ends), max(ends)]


def stability() -> list[float]:
    """Return by what Adam's limit of stability, (2 + 2 beta1) / (1 - beta1) over the rate, falls from 0.9 to 0.5."""
    before, after = ((2 + 2 * beta1) / (1 - beta1) for beta1 in (0.9, 0.5))
    return [before / after]


def weights() -> list[float]:
    """Return the thousands of weights of the network at an eighth of its width."""
    (count,) = {round(int(run.environment["parameters"]), -3) for run in runs(TABLE).values()}
    return [count / 1000]


def error_of_a_share() -> list[float]:
    """Return the standard error of the baseline's accuracy on 1,000 images, in points."""
    share = cell(TABLE, "Inception", "test/accuracy best mean")
    return [100 * (share * (1 - share) / 1000) ** 0.5]


def angles(arms: Sequence[str], layers: Sequence[int]) -> list[float]:
    """Return the least and the largest percentage by which an angle is below its formula, over arms and layers."""
    found = []
    for arm in arms:
        angle, formula = (curve("law_equilibrium/paper", arm, column) for column in ("angle", "formula"))
        found += [100 * (1 - angle[layer] / formula[layer]) for layer in layers]
    return [min(found), max(found)]


def post_norm() -> list[float]:
    """Return the percentage by which post-norm's last gradient is larger than in the reference, for both depths."""
    relative = curve("law_norm_placement/paper", "Post", "relative")
    return [100 * (relative[depth] - 1) for depth in (32, 48)]


def unselectable(arm: str) -> list[float]:
    return [100 * cell("law_selectable_keys/paper", f"Control: {arm} study.keys=150", "unselectable mean")]


def distances() -> list[float]:
    """Return the ratio of two batch sizes' distances, first and last under the law, and its ends under the control."""
    arms = ("512-examples,-twice-the-rate", "Control-512-examples,-the-same-rate")
    law, control = ([ratio for step, ratio in curve("law_weight_distance/paper", arm, "relative").items() if step >= 16]
                    for arm in arms)  # fmt: skip
    return [law[0], law[-1], min(control), max(control)]


def mistakes() -> list[int]:
    return [(TOP / "tests" / "cli" / "mistakes.md").read_text(encoding="utf-8").count("\n    $ normexp")]


QUOTES = (
    Quote(
        "ba2016_figure6", "the lower one after {} of the {} epochs, in batches of {} as in batches of {}.", lower_epochs
    ),
    Quote("arpit2016_batch_size_1", "and {} of {} runs stay finite", finite_runs),
    Quote(
        "batch_norm_and_dropout",
        "costs {:.1f} points of test accuracy (95 % interval {:.1f} to {:.1f});",
        lambda: costs("batch_norm_and_dropout/cpu", "Without batch normalization dropout raises"),
    ),
    Quote(
        "inference_cost",
        "it takes {:.1f} % of the time without a norm less (95 % interval {:.1f} to {:.1f}).",
        lambda: costs("inference_cost/cpu", "A prediction takes as long with weight normalization"),
    ),
    Quote(
        "moving_input",
        "it is {:.2f} points behind batch normalization where the input moves and {:.2f} where it stays, and between "
        "the two no difference is seen ({:.2f} points, 95 % interval {:.2f} to {:.2f};",
        behind_batch_norm,
    ),
    Quote("docs/faq.md", "where the input stays ({:.2f} points)", lambda: behind_batch_norm()[1:2]),
    Quote("docs/reliability.md", "- Mistakes: {} commands.", mistakes),
    Quote("docs/reliability.md", "by : {} commands over every verb and every group", mistakes),
    Quote(
        "law_equilibrium",
        "SGD without momentum turns by {:.0f} to {:.0f} % less than the formula",
        lambda: angles(["SGD,-rate-0.1,-decay-0.02", "SGD,-rate-0.4,-decay-0.005"], [1, 2, 3]),
    ),
    Quote(
        "law_equilibrium",
        "AdamW's output layer turns by {:.0f} to {:.0f} % less than the formula",
        lambda: angles(["AdamW,-rate-0.002,-decay-1", "AdamW,-rate-0.01,-decay-0.2"], [3]),
    ),
    Quote(
        "law_norm_placement",
        "is on average {:.0f} % larger with 32 layers and {:.0f} % with 48 than in the reference, with 48 by",
        post_norm,
    ),
    Quote(
        "law_orthogonalization",
        "The slope over the last half of the layers is {:.2f}, near",
        lambda: [cell("law_orthogonalization/paper", "Batch norm", "slope mean")],
    ),
    Quote(
        "law_orthogonalization",
        "Over that tenth it is {:.2f} where the examples are alike",
        lambda: [cell("law_orthogonalization/paper", "Batch norm, examples alike", "slope_early mean")],
    ),
    Quote(
        "law_layer_norm_scaling",
        "the stream has {:.1f} times the square of layer 1, under pre-norm {:.0f} times",
        lambda: [cell("law_layer_norm_scaling/paper", arm, "relative mean") for arm in ("Layer norm scaling", "Pre")],
    ),
    Quote("law_weight_distance", "the ratio falls from {:.2f} to {:.2f}.", lambda: distances()[:2]),
    Quote("law_weight_distance", "The control's ratio is {:.2f} to {:.2f}.", lambda: distances()[2:]),
    Quote("law_selectable_keys", "{:.0f} % of 150 Gaussian keys", lambda: unselectable("without either")),
    Quote("law_selectable_keys", "{:.0f} % behind its projection alone", lambda: unselectable("without scaling")),
    Quote("ioffe2015_table/deviations", "{:.0f},000 at an eighth of it", weights),
    Quote("ioffe2015_table/deviations", "on 1,000 images has a standard error of {:.1f} points", error_of_a_share),
    Quote("digits_five_schemes/deviations", "moves in steps of {:.2f} points", lambda: [100 / 360]),
    Quote(
        "docs/reproduce.md",
        "half as many steps from {:.0f} to {:.0f} %, one or two evaluations fewer, and {:.2f} times fewer "
        "(95 % interval {:.2f} to {:.2f}) and {:.2f} times ({:.2f} to {:.2f}) at {:.1f} and {:.1f} %",
        half_and_even,
    ),
    Quote(
        "ioffe2015_figure1",
        "half as many steps from {:.0f} to {:.0f} %, which are one or two evaluations fewer, and {:.2f} times fewer "
        "(95 % interval {:.2f} to {:.2f}) and {:.2f} times ({:.2f} to {:.2f}) at {:.1f} and {:.1f} %",
        half_and_even,
    ),
    Quote("ioffe2015_figure1", "the least, at 96 %, is {:.2f} times ({:.2f} to {:.2f})", least_speed_up),
    Quote(
        "ioffe2015_figure1", "Of {:.2f} % it is sure, and the network without it gets there in {} of {} runs", sure_of
    ),
    Quote("arpit2016_data_normalization", "{} (batches of 50) to {} (10) of batch normalization's", noise),
    Quote(
        "arpit2016_table",
        "(standard deviations of {:.1f} to {:.1f} instead of 1 in the figure hidden_inputs)",
        corrected_pools,
    ),
    Quote(
        "arpit2016_table",
        "standard deviations of {:.1f} to {:.1f} instead of 1 in the figure hidden_inputs.",
        lambda: corrected_pools("arpit2016_table/desk"),
    ),
    Quote("salimans2016_table1", "lowers the sharpness up to which Adam is stable by a factor of {:.1f}", stability),
    Quote(
        "README.md",
        "after one epoch ({} steps) is {:.1f} %; the plain network needs {} epochs to pass that.",
        digits_speed,
    ),
    Quote("README.md", "[sets it beside {} others]", lambda: [len(arms_of_mnist1d())]),
    Quote(
        "docs/own_scheme.md",
        "defaults and data, {} here, and your three are trained",
        lambda: [sum(arms_of_mnist1d().values())],
    ),
    Quote("README.md", "on 360 test images moves in steps of {:.2f} points", lambda: [100 / 360]),
    Quote(
        "README.md",
        "test error {:.2f} % with batch normalization, {:.2f} % with NormProp, {:.2f} % with neither | "
        "{:.1f} ± {:.1f}, {:.1f} ± {:.1f} and {:.1f} ± {:.1f} %: the same order; neither, and no dropout, which the "
        "first two do without, {:.1f} ± {:.1f} %",
        lambda: in_percent(
            "arpit2016_table/desk", "Batch Normalization", "NormProp", "NIN", control="NIN without dropout"
        ),
    ),
    Quote(
        "README.md",
        "test error {:.2f} % together with mean-only batch normalization, {:.2f} % with batch normalization, {:.2f} % "
        "by itself, {:.2f} % with none | {:.1f} ± {:.1f}, {:.1f} ± {:.1f}, {:.1f} ± {:.1f} and {:.1f} ± {:.1f} %: the "
        "first two are not seen to differ, and none has {:.1f} ± {:.1f} % at the others' rate",
        weight_errors,
    ),
    Quote(
        "README.md",
        "{:.1f}, {:.1f} and {:.1f} times fewer steps, at one, five and thirty times the learning rate | "
        "{:.1f} [{:.1f}, {:.1f}], {:.1f} [{:.1f}, {:.1f}] and {:.1f} [{:.1f}, {:.1f}] times, and at best "
        "{:.1f} ± {:.1f}, {:.1f} ± {:.1f} and {:.1f} ± {:.1f} % accuracy beside {:.1f} ± {:.1f} % without it",
        faster_and_better,
    ),
    Quote("docs/faq.md", "and some {:.0f} % of the time on batches of 8", folded_dearer),
    Quote("docs/reproduce.md", "after 10,000 steps ({:.1f} against {:.1f} %)", after_10000),
    Quote(
        "docs/reproduce.md",
        "with it the end is {:.2f} points higher, 95 % interval {:.2f} to {:.2f}, {} fresh seeds, and {:.1f} points "
        "below the published {:.1f} %",
        higher_accuracy,
    ),
    Quote(
        "docs/reproduce.md",
        "{:.1f}, {:.1f} and {:.1f} times fewer steps (quotients of the published steps) | {:.1f}, {:.1f} and {:.1f} "
        "times, at {:.0f} to {:.0f} % of ten classes",
        lambda: speed_ups(TABLE_DESK),
    ),
    Quote(
        "docs/reproduce.md",
        "After 1,500 steps, [twenty seeds], {:.1f}, {:.1f} and {:.1f} times, at {:.0f} to {:.0f} % |",
        lambda: speed_ups()[3:],
    ),
    Quote("docs/reproduce.md", "these two first, at {:.0f} % error", lambda: table1_errors()[:1]),
    Quote(
        "docs/reproduce.md",
        "weight normalization alone {} points behind, none {} points behind that at its own rate and {} at the "
        "others'.",
        points_behind,
    ),
    Quote(
        "salimans2016_table1",
        "it is {:.1f} points behind weight normalization (95 % interval {:.1f} to {:.1f};",
        at_one_rate,
    ),
    Quote("README.md", "(its best number of workers) | {:.2f} | {:.2f} | {:.2f} | {:.2f} |", best_script),
    Quote(
        "README.md",
        "A small gpt is trained at {:.2f} of a plain loop's speed and {:.2f} of the best loop's by hand",
        lambda: [faster("steps-gpt")["plain_gpt"], faster("steps-gpt")["hand_written"]],
    ),
    *(
        Quote("README.md", f"{name} | {{:.2f}} | {{:.2f}} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", speed_row(side))
        for name, side in (
            ("a plain loop over resident tensors", "resident"),
            ("Lightning over resident tensors", "lightning"),
            ("skorch over resident tensors", "skorch"),
            ("the best loop by hand", "hand_written"),
        )
    ),
    Quote(
        "arpit2016_table",
        "the rows lie {:.0f} to {:.0f} points apart, in the publication {:.1f} to {:.1f}.",
        rows_apart,
    ),
    Quote("ioffe2015_table", "{:.0f} times fewer steps for BN-x5, not 14", lambda: speed_ups()[4:5]),
    Quote(
        "ioffe2015_table",
        "BN-Baseline takes {:.1f} times fewer steps than Inception, the paper's {:.1f}; BN-x5 and BN-x30 take {:.1f} "
        "and {:.1f} times fewer, theirs {:.1f} and {:.1f}.",
        fewer_steps,
    ),
    Quote(
        "ioffe2015_table",
        "BN-x30 is {:.1f} points ahead of BN-x5 (95 % interval {:.1f} to {:.1f}), the paper's {:.1f};",
        bests_apart,
    ),
    Quote(
        "ioffe2015_table",
        "its best is {:.1f} points ahead in the mean; the paper's is {:.1f} points behind.",
        sigmoids_ahead,
    ),
    Quote("salimans2016_table1", "the others are up to {:.0f} points ahead", lambda: ahead()[:1]),
    Quote("salimans2016_table1", "the published rows lie {:.1f} points apart", lambda: ahead()[1:]),
    Quote(
        "which_norm_small",
        "with He's it gains {:.0f} points in batches of 128 and {:.0f} in batches of 8",
        he_start,
    ),
)
