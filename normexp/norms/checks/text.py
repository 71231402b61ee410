"""A card and the clauses of the contract as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from normexp.norms.checks.card import Card
from normexp.norms.checks.contract import Checked
from normexp.norms.checks.cost import Cost

WIDTH = 34


def clauses_text(checked: Sequence[Checked]) -> str:
    """Return one line per clause of the contract, and how it is broken."""
    lines = [f"  {'BROKEN' if each.broken else 'holds ':7} {each.clause}" for each in checked]
    broken = [f"          {each.broken}" if each.broken else "" for each in checked]
    return "\n".join(line for pair in zip(lines, broken, strict=True) for line in pair if line)


def card_text(card: Card, cost: Cost) -> str:
    """Return the card as titled blocks of `property  value` lines."""
    blocks = {
        "invariance of a layer's output": [(name, yes_no(same)) for name, same in card.invariances.items()],
        "batch": batch_lines(card),
        "works with": list(card.works.items()),
        "size, for a layer of C outputs": size_lines(card),
        f"time of forward and backward on {cost.shape}, {cost.threads} threads": cost_lines(cost),
    }
    return "\n\n".join(f"{title}\n{block_text(lines)}" for title, lines in blocks.items())


def batch_lines(card: Card) -> list[tuple[str, str]]:
    return [
        ("depends on other examples", "training" if card.depends_in_training else "no"),
        ("... in evaluation", yes_no(card.depends_in_evaluation)),
        ("training against evaluation", gap_text(card.gap) + " apart"),
        ("gradient at c W", gradient_at(card.gradient_factor)),
    ]


def size_lines(card: Card) -> list[tuple[str, str]]:
    return [
        ("learned beyond weight and bias", str(card.parameters)),
        ("the layer's bias", "dropped" if card.cancels_bias else "kept"),
        ("buffers", str(card.buffers)),
        ("kept for backward", f"{card.kept:.2f} of batch norm's"),
    ]


def cost_lines(cost: Cost) -> list[tuple[str, str]]:
    flat = len(cost.shape) == 2
    return [
        (f"of a {'linear layer' if flat else '3 x 3 convolution'}'s", str(cost.of_layer)),
        (f"of nn.BatchNorm{1 if flat else 2}d's", f"{cost.of_batch_norm}   median (quartiles)"),
    ]


def block_text(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"  {name:{WIDTH}} {value}" for name, value in lines)


def yes_no(value: bool) -> str:
    return "yes" if value else "no"


def gap_text(gap: float) -> str:
    """Return a relative difference in whole percents."""
    return "0 %" if gap < 1e-6 else "< 1 %" if gap < 0.01 else f"{gap:.0%}".replace("%", " %")


def gradient_at(factor: float | None) -> str:
    """Return what the gradient at c W is, beside that at W."""
    return "of another direction" if factor is None else f"{gradient_text(factor)} of that at W"


def gradient_text(factor: float) -> str:
    """Return the gradient's factor in terms of c; `factor` is c times it, measured at c = 3."""
    known = {1.0: "1/c", 3.0: "1"}
    return next((text for value, text in known.items() if abs(factor - value) < 1e-3), f"{factor:.3g}/c at c = 3")
