"""The cards of all schemes as one Markdown table."""

from __future__ import annotations

from collections.abc import Mapping

from normexp.norms.checks.card import Card
from normexp.norms.checks.invariance import CHANGES
from normexp.norms.checks.text import gap_text, gradient_text, yes_no

SHORT = dict(zip(CHANGES, ("c W", "W + 1 r", "c w_i", "c x", "x + r", "c x_n"), strict=True))
NOTE = """\
Measured by `normexp list norms --matrix` with each scheme's default options; `normexp check norm=NAME` prints one
scheme's card with reasons and times.

- `c W` to `c x_n`: does a layer's output stay the same when its weights are multiplied by c (`c W`), when one vector
  is added to every unit's weights (`W + 1 r`), when one unit's weights are multiplied (`c w_i`), when all inputs are
  multiplied (`c x`), when one vector is added to all inputs (`x + r`), when one example is multiplied (`c x_n`)? This
  is the table of Ba, Kiros & Hinton 2016, section 5.1, in float64, without bias and eps, running estimates settled.
- `gradient`: the weights' gradient at c W, relative to that at W; `-` where its direction changes.
- `batch`: an example's output in training depends on the others. `gap`: training against evaluation on one batch of 96.
- `vectors` to `channels last`: works in training, backward included.
- `learned`, `buffers`: numbers beyond the layer's weight and bias, for C outputs; `bias`: the layer's own.
- `kept`: bytes kept for backward beyond a plain block's, batch norm's = 1.
- `batch_renorm` is batch normalization for its first 5,000 updates (`norm.warmup`; its limits move until 40,000): in a
  run of fewer it has nothing of its own but a smaller momentum, as the run then says. For a shorter run lower
  `norm.warmup`, `norm.rmax_at` and `norm.dmax_at`, and raise `norm.momentum`, as the experiment mnist1d_schemes does.
  `rep_batch` waits, too, with `norm.layer_steps`.
- `stack` joins a scheme of weights and one of activations, by default none and none: its row is that of `none`.
"""


def matrix(cards: Mapping[str, Card]) -> str:
    """Return a note on the columns and one row per scheme, in the order given."""
    rows = [cells(name, card) for name, card in cards.items()]
    header = list(rows[0])
    lines = [header, ["---"] * len(header), *(list(row.values()) for row in rows)]
    return f"{NOTE}\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(name: str, card: Card) -> dict[str, str]:
    """Return column -> text of one scheme."""
    gradient = "-" if card.gradient_factor is None else gradient_text(card.gradient_factor)
    return {
        "scheme": name,
        **{SHORT[change]: yes_no(same) for change, same in card.invariances.items()},
        "gradient": gradient,
        "batch": yes_no(card.depends_in_training),
        "gap": gap_text(card.gap),
        **{case: answer.partition(":")[0] for case, answer in card.works.items()},
        "learned": str(card.parameters),
        "bias": "dropped" if card.cancels_bias else "kept",
        "buffers": str(card.buffers),
        "kept": f"{card.kept:.1f}",
    }
