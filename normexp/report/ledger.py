"""`normexp reproduce`, `report` and `claims`: experiments by name, and the ledger over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from normexp.config.allowed import parse
from normexp.errors import Unavailable, UserError, unknown
from normexp.experiments.experiment import Experiment
from normexp.experiments.load import load, names, scales
from normexp.experiments.shape import CLAIMS, SCALES, check_arms
from normexp.records import read_json, write_atomically
from normexp.report.sources import entries, summary
from normexp.sweeps.sweep import Say, take_jobs

FILES = ("dataset.archive", "dataset.file")
REPRODUCE = ("scale", "jobs", "results_dir", "threads", "device", "precision", "compile", *FILES)
PLAIN = {"true": True, "false": False}
REPORT = ("scale", "results_dir")
LEDGER = "claims.md"


def reproduce_all(
    words: Sequence[str],
    say: Say,
    everything: bool = False,
    arm: str | None = None,
    jobs: int | None = None,
    dry_run: bool = False,
    force: bool = False,
) -> int:
    """Run and render the experiments that are named; return 1 if a run failed.

    Of several, one whose data cannot be had is left out and said; the exit status is then 2. Raises Unavailable for
    one by itself.
    """
    from normexp.experiments.reproduce import reproduce

    jobs, words = take_jobs(words, jobs)
    chosen, given = split(words, REPRODUCE)
    if not chosen and not everything:
        raise UserError(f"reproduce: no experiment named; give one of {', '.join(names())}, or --all")
    results, scale = Path(given.pop("results_dir", "results")), given.pop("scale", None)
    extra = {key: int(value) if value.isdecimal() else PLAIN.get(value, value) for key, value in given.items()}
    wanted = (
        {name: _nearest_scale(name, scale, say) for name in names()} if everything else dict.fromkeys(chosen, scale)
    )
    experiments = [load(name, at).with_extra(extra) for name, at in wanted.items()]
    for experiment in experiments:
        if arm is not None:
            check_arms(f"experiment {experiment.name}", [arm], experiment.arms)
    statuses = []
    for experiment in experiments:
        try:
            statuses.append(reproduce(experiment, results, say, jobs, arm, dry_run, force))
        except Unavailable as error:
            if len(experiments) == 1:
                raise
            say(f"{experiment.name}: left out: {'; '.join(str(error).splitlines())}")
            statuses.append(2)
        if not dry_run and not statuses[-1]:
            _show(experiment, results)
    return max(statuses)


def _nearest_scale(name: str, scale: str | None, say: Say) -> str | None:
    """Return the scale to run of every experiment: the one asked for, else the smallest that is there, and say so."""
    there = scales(name)
    if scale is None or scale in there:
        return scale
    say(f"{name} has no scale {scale}; it runs at {there[0]}")
    return there[0]


def _show(experiment: Experiment, results: Path) -> None:
    from normexp.report.experiment.render import render

    written = render(experiment, results)
    print(next(path for path in written if path.name == "table.md").read_text())
    for entry in read_json(next(path for path in written if path.name == CLAIMS))["claims"]:
        print(f"{entry['verdict']}: {entry['text']} ({entry['evidence']})")
    print()
    for path in written:
        print(path)


def report_all(words: Sequence[str]) -> Iterator[Path]:
    """Render what is recorded; yield the files written."""
    from normexp.report.experiment.render import render

    for folder in recorded(words):
        yield from render(load(folder.parent.name, folder.name), folder.parent.parent)


def recorded(words: Sequence[str]) -> list[Path]:
    """Return the folders results/NAME/SCALE that are asked for. Raises UserError where there is none."""
    chosen, given = split(words, REPORT)
    results = Path(given.get("results_dir", "results"))
    asked = [given["scale"]] if "scale" in given else SCALES
    folders = [results / name / scale for name in chosen or names() for scale in asked]
    found = [folder for folder in folders if folder.is_dir()]
    if not found:
        raise UserError(f"{results}: holds no such records of an experiment; start with `normexp reproduce NAME`")
    return found


def write_ledger(words: Sequence[str]) -> str:
    """Return the ledger of claims as Markdown and write it to results/claims.md."""
    chosen, given = split(words, REPORT)
    results = Path(given.get("results_dir", "results"))
    where = f"{given.get('scale', '*')}/{CLAIMS}"
    reports = [path for name in chosen or names() for path in sorted((results / name).glob(where))]
    if not reports:
        raise UserError(f"{results}: holds no judged claims; start with `normexp reproduce NAME`")
    judged = (line for path in reports for line in _ledger_lines(read_json(path)))
    printed = [] if chosen or "scale" in given else summary(entries(results))
    lines = ["# Claims", "", *judged, *printed]
    text = "\n".join(lines).rstrip() + "\n"
    write_atomically(results / LEDGER, text)
    return text


def _ledger_lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"## {report['experiment']}, scale {report['scale']}"
    yield ""
    if report["scale"] == "smoke":
        yield "Preview: this scale only shows that the experiment works."
        yield ""
    for claim in report["claims"]:
        yield f"- **{claim['verdict']}**: {claim['text']}. [{claim['source']}]"
        yield f"  {claim['evidence']}"
    yield ""
    yield f"`{report['command']}`"
    yield ""


def split(words: Sequence[str], keys: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the names and the `key=value` pairs. Raises UserError for a name or a key that does not exist."""
    chosen = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    for name in chosen:
        if name not in names():
            raise unknown("experiment", name, names())
    for key in given:
        if key not in keys:
            raise unknown("key", key, keys)
    if "scale" in given:
        parse(" | ".join(SCALES), "").check("scale", given["scale"])
    return chosen, given
