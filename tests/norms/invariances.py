"""What the output of one linear layer, normalized, does not depend on: derived from each scheme's formula.

a = W x is a layer's summed input without bias; N examples, units i, positions p. Columns: W -> c W (all units);
W -> W + 1 r^T (one vector r on every unit's weights: a_ni gains the same s_n = r . x_n for all units i);
w_i -> c w_i (one unit); x -> c x (all examples); x -> x + r (a_ni gains t_i = w_i . r for all examples n);
x_n -> c x_n (one example). The columns of batch, weight and layer are Table 1 of Ba, Kiros & Hinton 2016.
"""

from importlib import import_module
from pathlib import Path

CHANGES = (
    "weight matrix re-scaling",
    "weight matrix re-centering",
    "weight vector re-scaling",
    "dataset re-scaling",
    "dataset re-centering",
    "single training case re-scaling",
)


def row(text: str) -> dict[str, bool]:
    return {change: word == "yes" for change, word in zip(CHANGES, text.split(), strict=True)}


LINEAR = row("no no no no no no")  # y = a follows every change
# (a_i - mean_n a_i) / std_n a_i: both follow c of one unit and of all; t_i goes with the mean. s_n differs per
# example, and so does one example's c: mean and deviation over n do not follow.
PER_UNIT_OVER_EXAMPLES = row("yes no yes yes yes no")
# (a_n - mean_i a_n) / std_i a_n: follows c of the matrix, the data and of one example; s_n is common to all units
# and goes with the mean, t_i is not.
PER_EXAMPLE_OVER_UNITS = row("yes yes no yes no yes")
# w depends on the direction of v alone, per unit; nothing is done to activations, so the data's c and r show.
PER_UNIT_WEIGHTS = row("yes no yes no no no")

EXPECTED: dict[str, dict[str, bool]] = {
    "none": LINEAR,
    "batch": PER_UNIT_OVER_EXAMPLES,
    "layer": PER_EXAMPLE_OVER_UNITS,
    # Statistics of one example's unit over positions p: c of one example goes too, and t_i is constant over p;
    # s_np = r . x_np varies over p.
    "instance": row("yes no yes yes yes yes"),
    # As layer within each group of units (no positions here): s_n is common to the group.
    "group": PER_EXAMPLE_OVER_UNITS,
    # As layer: mean and deviation over the units of one position.
    "positional": PER_EXAMPLE_OVER_UNITS,
    # As layer, but no mean is taken off, so s_n shows.
    "rms": row("yes no no yes no yes"),
    "weight": PER_UNIT_WEIGHTS,
    # gamma W / ||W||, per unit.
    "normprop": PER_UNIT_WEIGHTS,
    # (W - mean) / std over a unit's weights; s_n: r - mean(r) remains, and its size differs from unit to unit.
    "weight_standard": PER_UNIT_WEIGHTS,
    "scaled_weight_standard": PER_UNIT_WEIGHTS,
    # a_i - mean_n a_i: t_i goes, every c shows.
    "mean_only": row("no no no no yes no"),
    # The weights' rows of `weight` and the data's row of `mean_only`.
    "weight_mean_only": row("yes no yes no yes no"),
    # W / sigma(W): sigma follows c W, but one unit's c moves it by less than c.
    "spectral": row("yes no no no no no"),
    # Acts on the loss.
    "spectral_penalty": LINEAR,
    # Its default parts are none and none.
    "stack": LINEAR,
    # As batch within each part of the batch.
    "ghost_batch": PER_UNIT_OVER_EXAMPLES,
    # With settled running estimates, r and d do not move: (a - mean) / std r + d.
    "batch_renorm": PER_UNIT_OVER_EXAMPLES,
    # As batch, at every time step.
    "recurrent_batch": PER_UNIT_OVER_EXAMPLES,
    # Running mean and deviation per unit follow the data (settled); each example moves those after it.
    "online": PER_UNIT_OVER_EXAMPLES,
    # a / sqrt(mean_p a^2) of one example's unit: as instance without the mean, so t_i shows.
    "filter_response": row("yes no yes yes no yes"),
    # A mixture of instance, layer and batch statistics: only what all three follow, c of matrix and data.
    "switchable": row("yes no no yes no no"),
    # Sigma^(-1/2) (a - mean): Sigma takes c^2, the mean t. One unit's c turns the principal axes of its group.
    "decorrelated": row("yes no no yes yes no"),
    # a sigmoid(v a) / std: the sigmoid sees every change.
    "evonorm_s0": LINEAR,
    # a / max(std over examples, v a + std over positions): every term takes c, per unit; no mean is taken off, and
    # one example's c moves the std over examples.
    "evonorm_b0": row("yes no yes yes no no"),
    # tanh(alpha a) sees every change.
    "dynamic_tanh": LINEAR,
}


def of_references() -> dict[str, dict[str, bool]]:
    """Return the rows that references/NAME.py derive beside their formula: `INVARIANCES = "yes no ..."`."""
    paths = sorted((Path(__file__).parent / "references").glob("*.py"))
    found = {path.stem: getattr(import_module(f"references.{path.stem}"), "INVARIANCES", "") for path in paths}
    return {name: row(text) for name, text in found.items() if text}


EXPECTED |= of_references()
