"""`normexp claims` and `normexp laws`: the ledger over all experiments, and the page of laws."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from normexp.config.text import amount
from normexp.errors import UserError, nearest
from normexp.evidence.audit import cited
from normexp.experiments.keys import LAWS, RESULTS
from normexp.experiments.keys import LEDGER as KEYS
from normexp.experiments.load import laws, names
from normexp.records import plain_json, write_atomically
from normexp.report.commands.named import check_there, empty, folder_of, results_of, split
from normexp.report.ledger.claims import as_json, as_markdown
from normexp.report.ledger.judged import EVERY_VERDICT, Report, check_verdict, read_reports, records_alone, with_claims
from normexp.report.ledger.sources import entries, summary
from normexp.report.links import markdown_links

LEDGER = "claims.md"
TYPO = 0.7  # a word that is less like a name is looked for in the claims
logger = logging.getLogger("normexp")


def ledger(words: Sequence[str], plain: bool = False) -> str:
    """Return the ledger of claims as Markdown, or as JSON; that of everything is written to results/claims.md.

    Args:
        words: names of experiments, scale=, verdict=, find=, results_dir=; by default all that has a report.
        plain: as JSON.

    Raises: UserError for a word that it does not know, and where nothing is judged.
    """
    chosen, given = split(words, KEYS, own=True, meant=lambda name: _meant(name, words))
    check_verdict(given.get("verdict"))
    results = results_of(given)
    wanted = {folder_of(name) for name in chosen}
    every = read_reports(results)
    there = [report for report in every if not wanted or report.experiment in wanted]
    reports = [report for report in there if report.scale == given.get("scale", report.scale)]
    if not reports:
        raise empty(results, "judged claims", [report.scale for report in there])
    check_there(chosen, {report.experiment for report in reports}, given, f"{results} holds no judged claims of it")
    reports = reports if chosen or _previews_asked(given) else _without_previews(reports)
    reports = with_claims(reports, given.get("verdict"), given.get("find", ""))
    everything = not chosen and not given.keys() - {RESULTS}
    lines = [*as_markdown(reports, every), *(summary(entries(results)) if everything else ())]
    text = markdown_links(cited("\n".join(lines).rstrip() + "\n"))
    if everything:
        _keep(results / LEDGER, text)
    return plain_json(as_json(reports)) if plain else text


def _meant(name: str, words: Sequence[str]) -> str | None:
    """Return how claims are chosen by a word that is no experiment: a verdict, or what they say."""
    bare = " ".join(word for word in words if "=" not in word and word != "find")
    if verdict := next((each for each in (bare, name) if each in EVERY_VERDICT), None):
        return quote(f"verdict={verdict}")
    phrase = " " in bare and not any(word in names() for word in bare.split())  # of several words none is a name
    return None if nearest(name, names(), TYPO) and not phrase else quote(f"find={bare or 'WORDS'}")


def _previews_asked(given: Mapping[str, str]) -> bool:
    return "scale" in given or given.get("verdict") == "preview"


def _without_previews(reports: Sequence[Report]) -> list[Report]:
    kept = records_alone(reports)
    if left := len(reports) - len(kept):
        logger.info(f"left out: {amount(left, 'experiment')} at scale smoke, a preview; scale=smoke shows them")
    return kept


def _keep(path: Path, text: str) -> None:
    """Write the ledger, which is an answer even where it cannot be kept: in somebody else's folder, on a full disk."""
    try:
        write_atomically(path, text)
    except UserError as error:
        logger.warning("%s", error)


def laws_page(words: Sequence[str], plain: bool = False) -> str:
    """Return the page of laws as text, or as JSON.

    Args:
        words: names of experiments, results_dir=; by default every law.

    Raises: UserError for a word that it does not know, and where no law is recorded.
    """
    from normexp.report.ledger.laws import as_json as laws_as_json
    from normexp.report.ledger.laws import page, read_laws

    chosen, given = split(words, LAWS, among=laws())
    results = results_of(given)
    if RESULTS in given and not results.is_dir():
        raise empty(results, "records of laws")
    found = read_laws(results, chosen)
    if not any(law.checks for law in found):
        logger.info("%s", empty(results, "records of laws"))
    if plain:
        return plain_json(laws_as_json(found))
    return "\n".join(page(found)) + "\n"
