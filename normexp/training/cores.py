"""How many processor cores this process may use."""

from __future__ import annotations

import os
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu")


def physical_cores() -> int:
    """Return the physical cores open to this process; where the system does not tell, the logical ones."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    return max(1, len({_siblings(cpu) for cpu in allowed}))


def _siblings(cpu: int) -> str:
    """Return the logical processors that share a core with this one, as the system writes them."""
    try:
        return (_SYSTEM / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
