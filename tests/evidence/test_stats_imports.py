"""What importing the statistics costs."""

import subprocess
import sys


def test_importing_claims_and_verdicts_loads_nothing_heavy() -> None:
    heavy = "scipy", "torch", "pandas", "matplotlib"
    code = "import sys, normexp.evidence.claims, normexp.evidence.verdicts; "
    code += f"print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
