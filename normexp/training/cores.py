"""How many processor cores this process may use. Imports nothing heavy."""

from __future__ import annotations

import warnings


def physical_cores() -> int:
    """Return the physical cores open to this process, by its affinity and by the quota of its container."""
    import joblib  # here: it takes a tenth of a second

    with warnings.catch_warnings():  # where the system does not tell, the logical ones count
        warnings.simplefilter("ignore")
        return int(joblib.cpu_count(only_physical_cores=True))
