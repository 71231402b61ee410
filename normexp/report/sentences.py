"""What docs/sources.md says of a document beside its numbers: sentences that are claims, and slips seen by reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from normexp.evidence.audit import CITED, cited
from normexp.evidence.claims import NOT_JUDGED, NOT_YET
from normexp.report.formats import in_cell
from normexp.report.judged import PREVIEW, VERDICTS, Judged, Report, shown_verdict

SLIDES = ("slide", "take home message", "Simulation")  # how the places of claims call S002, whose pages have titles
OWN = ("ours", "our own", "beyond", "follows from")  # places that say what a document does not
READ = {
    "S001": (
        "The sums of mean and variance run to M, and are divided by m; both are the number of examples in the batch.",
    ),
    "S004": (
        "No eps is added to the variance.",
        "gamma and beta are said to be in R; they are multiplied and added element by element, so that they are in "
        "R^d.",
        "Features of mean 0 and standard deviation 1 are those before the affine transform: of what the next layer "
        "gets it is true as long as gamma is 1 and beta 0.",
        "The last link, arXiv:1705.10941, is labelled Weight Normalization; it is on spectral norm regularization.",
        "Of PyTorch the notes say only what alpha is called and its default. That averages start at 0 and are of "
        "deviations is their own scheme, which the rows on PyTorch set beside PyTorch's.",
    ),
}
"""What needs no computation."""


def sentences(document: str, reports: Sequence[Report]) -> Iterator[str]:
    """Yield the claims that test sentences of a document, with the verdicts of the ledger, and the slips."""
    found = [(report, claim) for report in reports for claim in report.claims
             if report.scale != PREVIEW and is_from(document, claim)]  # fmt: skip
    if found:
        counts = Counter(claim["verdict"] for _, claim in found)
        words = ", ".join(
            f"{verdict} {counts[verdict]}" for verdict in (*VERDICTS, NOT_JUDGED, NOT_YET) if counts[verdict]
        )
        yield f"<details><summary>Claims on its sentences, tested by experiments: {words}</summary>"
        yield from ("", "| experiment | claim | verdict |", "| --- | --- | --- |")
        for report, claim in found:
            yield f"| `{report.experiment}` | {in_cell(cited(claim['text']))} | {shown_verdict(claim)} |"
        yield from ("", "</details>", "")
    if document in READ:
        yield from ("Seen by reading:", "", *(f"- {slip}" for slip in READ[document]), "")


def is_from(document: str, claim: Judged) -> bool:
    """Tell whether a claim names the document as where it is said."""
    place = claim["place"]
    if claim["kind"] == "own" or place.startswith(OWN):
        return False
    return CITED[document] in place or (document == "S002" and any(word in place for word in SLIDES))
