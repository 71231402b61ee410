"""What every experiment made up for tests begins with."""

from typing import Any

HEAD: dict[str, Any] = {
    "paper": "A paper",
    "item": "Table 1",
    "title": "A title",
    "about": "A set-up.",
    "common": {"dataset": "digits", "model": "mlp", "steps": 5},
    "arms": {"Plain": {"norm": "none"}, "With BN": {"norm": "batch"}},
}
