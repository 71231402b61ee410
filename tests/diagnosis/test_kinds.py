"""The page's table has every kind of finding, and no other."""

import re
from pathlib import Path

from normexp import diagnosis
from normexp.diagnosis.finding import BATCH
from normexp.norms.networks.torch_weights import NAMES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "diagnose.md"
MADE = re.compile(r'(?:Finding\(|return )\s*"([^"]+)", ')  # the kind comes first


def test_the_page_has_every_kind_of_finding():
    sources = [path.read_text(encoding="utf-8") for path in Path(*diagnosis.__path__).glob("*.py")]
    made = {kind for source in sources for kind in MADE.findall(source)}
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {kind for row in rows for kind in re.findall("`(.+?)`", row)} == made | {BATCH, *NAMES.values()}
