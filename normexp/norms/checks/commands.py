"""`normexp check` and `normexp list norms --matrix`: from a scheme to printed text."""

from __future__ import annotations

from collections.abc import Mapping

from normexp.norms.base import Norm
from normexp.norms.checks.batch_dependence import draws_in_training
from normexp.norms.checks.card import measure
from normexp.norms.checks.clause import Case
from normexp.norms.checks.clauses_of_hooks import has
from normexp.norms.checks.contract import contract, raised_in
from normexp.norms.checks.cost import FULL, SMALL, cost
from normexp.norms.checks.matrix import matrix
from normexp.norms.checks.text import card_text, clauses_text

OF_SEQUENCES_ALONE = (
    "no card: it measures layers, where this scheme does nothing; it acts on tokens or time steps alone"
)
DRAWS = "it draws random numbers in training: what compares two calls there, here and below, sees other ones"


def drawing(norm: Norm) -> str:
    """Return what is to be known of a scheme that draws random numbers; nothing of another, or where asking fails."""
    try:
        return f"\n  {DRAWS}" if draws_in_training(norm) else ""
    except Exception:  # a scheme may raise anything
        return ""


def of_sequences_alone(norm: Norm) -> bool:
    """Tell whether a scheme acts on tokens or time steps and on no layer; False where asking it fails."""
    case = Case(norm)
    try:
        return has("sequence", "recurrent", "parametrize_recurrent")(case) and not case.acts_on_blocks
    except Exception:  # a scheme may raise anything
        return False


def check_command(
    norm: Norm,
    title: str,
    *,
    exact_gradient: bool = True,
    mixes_examples: bool | None = None,
    full: bool = False,
    inductor: bool = False,
) -> tuple[str, bool]:
    """Return the contract's findings and the card as text, and whether the contract holds.

    Args:
        exact_gradient: False for a scheme whose backward is not the derivative of its forward.
        mixes_examples: True if in training an example's output depends on the others; None: not said.
        full: take times on (128, 96, 32, 32), the size of a first layer on CIFAR-10.
        inductor: compile to machine code, not only to a graph.
    """
    findings = contract(norm, exact_gradient=exact_gradient, mixes_examples=mixes_examples)
    holds = not any(finding.broken for finding in findings)
    verdict = "holds" if holds else "is broken"
    head = f"{title}\n\ncontract: {verdict}\n{clauses_text(findings)}{drawing(norm)}"
    if of_sequences_alone(norm):
        return f"{head}\n\n{OF_SEQUENCES_ALONE}", holds
    try:
        card = measure(norm, backend="inductor" if inductor else "aot_eager")
        text = card_text(card, cost(norm, FULL if full else SMALL))
    except Exception as error:  # a scheme that breaks the contract may raise anything
        return f"{head}\n\nno card: {raised_in(norm, error)}", False
    return f"{head}\n\n{text}", holds


def matrix_command(norms: Mapping[str, Norm]) -> str:
    """Return the matrix of these schemes as Markdown."""
    return matrix({name: measure(norm) for name, norm in norms.items()})
