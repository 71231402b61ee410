"""Write docs/schemes.md: the matrix of all schemes, measured (`normexp list norms --matrix`)."""

import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from normexp.cli.verbs import main

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "schemes.md"
TITLE = (
    "# Schemes\n\nWhat each scheme can do, one row a scheme: invariances, batches of one, half precision and so on.\n\n"
    "Written by `python scripts/make_scheme_matrix.py`; a test compares it with a fresh measurement.\n\n"
)

if __name__ == "__main__":
    text = StringIO()
    with redirect_stdout(text):
        status = main(["list", "norms", "--matrix"])
    if status == 0:
        DOCUMENT.write_text(TITLE + text.getvalue(), encoding="utf-8")
    sys.exit(status)
