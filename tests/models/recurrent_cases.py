"""Every recurrent cell under every scheme that can sit inside one, and how exactly it agrees with its equations."""

import pytest

from normexp.config import option, options
from normexp.models.lstm_classifier import CELLS

SCHEMES = [name for name in options("norm") if option("norm", name).get("_recurrent_")]
EXACT = {"rtol": 1e-9, "atol": 1e-10}
each_case = pytest.mark.parametrize(("cell", "scheme"), [(c, s) for c in CELLS for s in SCHEMES])
