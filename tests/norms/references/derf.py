"""Derf: the error function with a learned slope and shift."""

from reference import Array, NoNorm
from scipy.special import erf

INVARIANCES = "no no no no no no"  # erf(alpha a + shift) sees every change


class Formula(NoNorm):
    learned = ("alpha", "shift")

    def normalize(self, x: Array) -> Array:
        return erf(self.parameters["alpha"] * x + self.parameters["shift"])
