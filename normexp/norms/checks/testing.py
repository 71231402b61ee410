"""The contract in somebody's own test suite, as scikit-learn's `parametrize_with_checks` does for estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from normexp.norms.base import Norm
from normexp.norms.checks.clause import Case, Clause
from normexp.norms.checks.contract import broken_by, clauses_for


def parametrize_with_checks(schemes: Mapping[str, Norm | Case]) -> Callable[..., Any]:
    """Parametrize a pytest function by every clause of the contract that concerns every scheme.

    from normexp.norms.checks.testing import parametrize_with_checks

    @parametrize_with_checks({"mine": MyNorm(), "mine without affine": MyNorm(affine=False)})
    def test_contract(name, check):
        assert check() == ""

    Args:
        schemes: name -> the scheme, or a `Case` with what it says of itself.
    """
    import pytest

    cases = {name: each if isinstance(each, Case) else Case(each) for name, each in schemes.items()}
    values = [(name, Check(clause, case)) for name, case in cases.items() for clause in clauses_for(case)]
    return pytest.mark.parametrize(("name", "check"), values, ids=str)


@dataclass(frozen=True)
class Check:
    """A clause bound to a scheme; called, it returns how the clause is broken, or nothing."""

    clause: Clause
    case: Case

    def __call__(self) -> str:
        return broken_by(self.clause, self.case)

    def __str__(self) -> str:
        return self.clause.name
