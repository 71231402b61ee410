"""How many processor cores this process may use, and how its threads wait for each other. Imports nothing heavy."""

from __future__ import annotations

import os
import sys
import warnings

from normexp.errors import UserError

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
SWITCH = "NORMEXP_PROCESS_SETTINGS"  # 0 leaves the process as it is
CORES = "LOKY_MAX_CPU_COUNT"  # of joblib: the most cores that a process may use
BRIEFLY = "30000"  # turns of a loop that waits


def settings_wanted() -> bool:
    """Tell whether a run may set what is its process's own; `NORMEXP_PROCESS_SETTINGS=0` says that it may not."""
    return os.environ.get(SWITCH, "1") != "0"


def physical_cores() -> int:
    """Return the physical cores open to this process, by its affinity and by the quota of its container.

    Raises: UserError where the variable by which joblib takes another number is none.
    """
    import joblib  # here: it takes a tenth of a second

    with warnings.catch_warnings():  # where the system does not tell, the logical ones count
        warnings.simplefilter("ignore")
        try:
            return int(joblib.cpu_count(only_physical_cores=True))
        except ValueError:
            raise UserError(f"{CORES}={os.environ.get(CORES)}: must be a whole number, or not set") from None


def wait_briefly() -> None:
    """Have OpenMP's threads sleep soon when they wait for each other: what spins loses its slices to a busy neighbour.

    OpenMP reads this once, when torch is imported. The number of threads, and with it every rounding, stays. Somebody's
    own setting stays, too, and NORMEXP_PROCESS_SETTINGS=0 leaves all as it is. `normexp bench waiting` measures it:
    nothing that can be told from noise is lost on an idle machine; half the speed is where threads sleep at once.
    """
    decided = any(name in os.environ for name in WAITING)
    if settings_wanted() and not decided and "torch" not in sys.modules:
        os.environ["GOMP_SPINCOUNT"] = BRIEFLY
