"""The contract of `normexp.norms.base`, as far as it can be tested without knowing a scheme's formula.

`CLAUSES` is the one list: `normexp check` prints it, the tests run it over every scheme (`parametrize_with_checks`),
and the mutants of scripts/mutate_norms.py have to break it.
"""

from __future__ import annotations

from dataclasses import dataclass

from normexp.errors import kind_and_line, line_in
from normexp.norms.base import Norm, is_own
from normexp.norms.checks.clause import Broken, Case, Clause
from normexp.norms.checks.clauses_of_blocks import OF_BLOCKS
from normexp.norms.checks.clauses_of_gradients import OF_GRADIENTS
from normexp.norms.checks.clauses_of_hooks import OF_HOOKS
from normexp.norms.checks.clauses_of_numbers import OF_NUMBERS
from normexp.norms.checks.clauses_of_sizes import OF_SIZES
from normexp.norms.checks.subject import reproducible

CLAUSES: tuple[Clause, ...] = (*OF_SIZES, *OF_NUMBERS, *OF_GRADIENTS, *OF_HOOKS, *OF_BLOCKS)


@dataclass(frozen=True)
class Checked:
    """One clause of the contract; `broken` says how it is broken, and is empty where it holds."""

    clause: str
    broken: str = ""


def contract(norm: Norm, *, exact_gradient: bool = True, mixes_examples: bool | None = None) -> list[Checked]:
    """Check every clause about something that the scheme has. Raises nothing: what a scheme raises breaks the clause.

    Args:
        exact_gradient: False for a scheme whose backward is, as published, not the derivative of its forward.
        mixes_examples: True if in training an example's output depends on the others; None: not said.
    """
    case = Case(norm, exact_gradient, mixes_examples)
    return [Checked(clause.name, broken_by(clause, case)) for clause in clauses_for(case)]


def clauses_for(case: Case) -> list[Clause]:
    """Return the clauses about something that the scheme has."""
    with reproducible():
        return [clause for clause in CLAUSES if concerns(clause, case)]


def concerns(clause: Clause, case: Case) -> bool:
    """Tell whether the scheme has what the clause is about; one that cannot even be asked is checked, and fails."""
    try:
        return clause.applies(case)
    except Exception:  # a scheme may raise anything
        return True


def broken_by(clause: Clause, case: Case) -> str:
    """Return how the clause is broken, in one line, or nothing."""
    with reproducible():
        try:
            clause.check(case)
        except Broken as broken:
            return str(broken)
        except Exception as error:  # a scheme may raise anything
            return raised_in(case.norm, error)
    return ""


def raised_in(norm: Norm, error: Exception) -> str:
    """Return what a scheme raised, in one line, with file, line and function where the scheme is the user's own."""
    own = type(norm).__module__ if is_own(type(norm)) else ""
    return f"{kind_and_line(error)}{line_in(error, own)}"
