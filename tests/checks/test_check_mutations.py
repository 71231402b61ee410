"""scripts/mutate_norms.py: every scheme has mutations that still apply, and the script tells killed from surviving."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import mutate_norms
import pytest
from norm_mutations import MUTATIONS

from normexp.config import options

TOP = Path(__file__).parents[2]
SCRIPTS = TOP / "scripts"


def test_mutations_are_of_every_scheme():
    assert set(MUTATIONS) == set(options("norm"))
    assert min(len(each) for each in MUTATIONS.values()) >= 3


def test_mutations_still_apply():
    for scheme, each in MUTATIONS.items():
        for file, old, new, breaks in each:
            count = (TOP / "normexp" / "norms" / file).read_text().count(old)
            assert count == 1, f"{scheme}: {breaks}: {file} holds the old text {count} times"
            assert new != old


def test_page_of_the_documentation_is_what_the_script_prints_of_all_mutations():
    page = (TOP / "docs" / "mutants.md").read_text()
    rows = [(scheme, breaks) for scheme, breaks, *_ in mutate_norms.ROW.findall(page)]
    assert rows == [(scheme, mutation.breaks) for scheme in sorted(MUTATIONS) for mutation in MUTATIONS[scheme]]
    assert f"\n{len(rows)} of {len(rows)} are noticed.\n" in page
    assert page == mutate_norms.table([], page)


def test_page_of_the_documentation_names_tests_that_there_are():
    page = (TOP / "docs" / "mutants.md").read_text()
    named = set(re.findall(r" killed by (.+?\.py)::(\w+)", page))
    texts = {file: (TOP / "tests" / "norms" / file).read_text() for file, _ in named}
    assert named
    assert [(file, test) for file, test in named if f"def {test}(" not in texts[file]] == []


def test_rows_of_schemes_that_were_not_tried_stay_as_they_are(monkeypatch):
    def page_of(scheme, verdict, commit, before=""):
        monkeypatch.setattr(mutate_norms, "commit", lambda: commit)
        outcome = mutate_norms.Outcome(scheme, MUTATIONS[scheme][0], verdict, verdict.startswith("killed"))
        return mutate_norms.table([outcome], before)

    page = page_of("layer", "killed by a", "1234abcd")
    page = page_of("batch", "SURVIVED", "5678abcd", page_of("batch", "killed by b", "4321abcd", page))
    assert [row[0::2] + row[3:] for row in mutate_norms.ROW.findall(page)] == [
        ("batch", "SURVIVED", "5678abcd"),
        ("layer", "killed by a", "1234abcd"),
    ]
    assert "\n1 of 2 are noticed.\n" in page


def test_mutations_have_names_of_their_own():
    for scheme, each in MUTATIONS.items():
        names = Counter(mutation.breaks for mutation in each)
        assert names.most_common(1)[0][1] == 1, (scheme, names.most_common(1))


def run(*arguments, folder=SCRIPTS):
    command = [sys.executable, str(folder / "mutate_norms.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=TOP)


@pytest.mark.slow
def test_mutations_of_one_scheme_are_all_noticed():
    done = run("--scheme", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed by" in done.stdout
    assert "SURVIVED" not in done.stdout


@pytest.mark.slow
def test_mutations_that_change_nothing_survive_and_those_that_do_not_apply_are_said(tmp_path):
    """The script itself must be able to fail: in a copy of it, one mutant is harmless and one is out of date."""
    for name in ("normexp", "configs", "tests"):
        (tmp_path / name).symlink_to(TOP / name)
    (tmp_path / "pyproject.toml").symlink_to(TOP / "pyproject.toml")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "mutate_norms.py").write_text((SCRIPTS / "mutate_norms.py").read_text())
    table = (SCRIPTS / "norm_mutations.py").read_text().partition("MUTATIONS: ")[0]
    harmless = '("harmless", "return nn.Identity()", "return nn.Identity() ")'
    stale = '("stale", "no such text", "")'
    (scripts / "norm_mutations.py").write_text(f'{table}MUTATIONS = {{"none": of("base.py", {harmless}, {stale})}}\n')
    done = run("--scheme", "none", folder=scripts)
    assert done.returncode == 1
    assert "SURVIVED" in done.stdout
    assert "does not hold the old text exactly once" in done.stdout
    assert "none: 2 mutations, 3 are due" in done.stdout
