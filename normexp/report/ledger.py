"""`normexp reproduce`, `report` and `claims`: experiments by name, and the ledger over all of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

from normexp.config.allowed import parse
from normexp.config.overrides import check_once, parse_overrides, plain_value
from normexp.config.text import check_digits
from normexp.errors import Submitted, Unavailable, UserError, nearest_path, unknown
from normexp.evidence.audit import cited
from normexp.evidence.claims import still_open
from normexp.experiments.experiment import Experiment
from normexp.experiments.keys import FILES, PLUGINS, RENDER, REPORT, REPRODUCE
from normexp.experiments.load import is_file, laws, load, names, read, scales, unknown_experiment, usual_scale
from normexp.experiments.shape import CLAIMS, SCALES, check_arms
from normexp.records import plain_json, read_json, write_atomically
from normexp.report.claims import as_json, as_markdown, read_reports, shown_verdict
from normexp.report.links import markdown_links
from normexp.report.sources import entries, summary
from normexp.runs.run import check_writable
from normexp.sweeps.submit import Sharing
from normexp.sweeps.sweep import take_sharing
from normexp.sweeps.workers import kept_workers

LEDGER = "claims.md"
logger = logging.getLogger("normexp")


def reproduce_all(
    words: Sequence[str],
    everything: bool = False,
    arm: str | None = None,
    jobs: int | None = None,
    dry_run: bool = False,
    force: bool = False,
    plan_only: bool = False,
    of_laws: bool = False,
) -> int:
    """Run and render the experiments that are named; return 1 if a run failed.

    Args:
        of_laws: run every experiment that tests a law, at full scale unless `scale` says otherwise.
        plan_only: run nothing; say how many seeds would decide the claims that are undecided.

    Of several, one whose data cannot be had is left out and said; the exit status is then 2. Raises Unavailable for
    one by itself.
    """
    sharing, words = take_sharing(words, jobs, force)
    if plan_only:
        _check_runs_nothing(arm, dry_run, force, sharing)
    experiments, results = _wanted(words, everything, of_laws)
    for experiment in experiments:
        if arm is not None:
            check_arms(f"experiment {experiment.name}", [arm], experiment.arms)
    if plan_only:
        return _plan(experiments, results)
    alone = len(experiments) == 1
    with kept_workers(sharing) as sharing:
        return max([_reproduce(each, results, arm, dry_run, force, sharing, alone) for each in experiments])


def _check_runs_nothing(arm: str | None, dry_run: bool, force: bool, sharing: Sharing) -> None:
    """Raise UserError for what says how to train, or what, beside --power."""
    given = {"--cell": arm is not None, "--dry-run": dry_run, "--force": force}
    given |= {"jobs=": sharing.jobs is not None, "stack=": sharing.stack != "false"}
    given |= {"executor=": sharing.settings is not None}
    if wrong := next((name for name, is_given in given.items() if is_given), None):
        raise UserError(f"reproduce: --power runs nothing, and looks at all arms; leave out {wrong}")


def _wanted(words: Sequence[str], everything: bool, of_laws: bool) -> tuple[list[Experiment], Path]:
    """Return the experiments that the words name, with what they say of every run, and the folder of results."""
    chosen, given = split(words, REPRODUCE)
    kinds = [flag for flag, asked in (("--all", everything), ("--laws", of_laws)) if asked] + chosen[:1]
    if not kinds:
        raise UserError("reproduce: no experiment named; give a NAME (normexp list experiments), --all or --laws")
    if kinds[1:]:
        raise UserError(f"reproduce: {kinds[0]} and {kinds[1]}: give one of the two")
    chosen = laws() if of_laws else chosen
    results, scale = Path(given.pop("results_dir", "results")), given.pop("scale", "paper" if of_laws else None)
    plugins = plugins_of(given)
    given.pop(PLUGINS, None)
    _check_files(given)
    for key, value in given.items():
        check_digits(key, value)
    extra = {key: plain_value(parse_overrides([f"{key}={value}"])[0]) for key, value in given.items()}
    wanted = {name: _nearest_scale(name, scale) for name in names()} if everything else dict.fromkeys(chosen, scale)
    if len(wanted) == 1:
        _check_data(*next(iter(wanted.items())), plugins, extra)
    return [load(name, at, plugins).with_extra(extra) for name, at in wanted.items()], results


def _reproduce(
    experiment: Experiment,
    results: Path,
    arm: str | None,
    dry_run: bool,
    force: bool,
    sharing: Sharing,
    alone: bool,
) -> int:
    """Run and render one experiment; return its exit status, 2 where one of several cannot have its data."""
    from normexp.experiments.reproduce import reproduce

    try:
        status = reproduce(experiment, results, arm, dry_run, force, sharing, partial(_open, experiment, results))
    except Submitted as elsewhere:
        logger.info(f"{experiment.name}: {elsewhere}; it then goes on, or shows the table")
        return 0
    except Unavailable as error:
        if alone:
            raise
        logger.info(f"{experiment.name}: left out: {'; '.join(str(error).splitlines())}")
        return 2
    if not dry_run and not status:
        _show(experiment, results)
    return status


def _open(experiment: Experiment, results: Path) -> list[str]:
    """Return the claims that the records leave open."""
    from normexp.report.experiment.claims import judged
    from normexp.report.experiment.measured import measured

    return still_open(judged(experiment, measured(experiment, results)))


def _check_files(given: Mapping[str, str]) -> None:
    for key in FILES:
        if key in given and not Path(given[key]).expanduser().exists():
            raise UserError(f"{key}={given[key]}: no such file or folder{nearest_path(Path(given[key]))}")


def _check_data(name: str, scale: str | None, plugins: Sequence[str], extra: Mapping[str, object]) -> None:
    """Raise UserError where the data of the first run cannot be had, before all runs are composed and checked."""
    from normexp.sweeps.prefetch import to_download

    experiment = read(name, scale or usual_scale(name), plugins)
    arm, point = next(iter(experiment.arms), None), experiment.points()
    if arm is None or not point:
        return
    config = experiment.config(arm, point[0])
    for key in FILES:
        group, _, leaf = key.partition(".")
        if key in extra and leaf not in config[group]:
            chosen = config.choices[group]
            raise UserError(
                f"{name} at scale={experiment.scale} is made with dataset={chosen}, which has no {key}; leave it out"
            )
    to_download([experiment.with_extra(extra).config(arm, point[0])])


def _plan(experiments: Sequence[Experiment], results: Path) -> int:
    from normexp.report.power import power

    for experiment in experiments:
        print("\n".join(power(experiment, results)))
    return 0


def _nearest_scale(name: str, scale: str | None) -> str | None:
    """Return the scale to run of every experiment: the one asked for, else the smallest that is there, and say so."""
    there = scales(name)
    if scale is None or scale in there:
        return scale
    logger.info(f"{name} has no scale {scale}; it runs at {there[0]}")
    return there[0]


def _show(experiment: Experiment, results: Path) -> None:
    from normexp.report.experiment.render import render

    written = render(experiment, results)
    print(next(path for path in written if path.name == "table.md").read_text(encoding="utf-8"))
    for entry in read_json(next(path for path in written if path.name == CLAIMS))["claims"]:
        print(f"{shown_verdict(entry)}: {entry['text']} ({entry['evidence']})")
    print()
    for path in written:
        print(path)


def report_all(words: Sequence[str]) -> Iterator[Path]:
    """Render what is recorded; yield the files written, the page of all of them last."""
    from normexp.report.experiment.render import NothingTrained, rendered, write_rendered
    from normexp.report.page.write import write_pages

    chosen, given = split(words, RENDER)
    results, files = Path(given.get("results_dir", "results")), {_folder(word): word for word in chosen}
    contents = []
    for folder in recorded(words):
        name = folder.parent.name
        try:
            contents.append(rendered(load(files.get(name, name), folder.name, plugins_of(given)), results))
        except NothingTrained as nothing:
            if chosen:
                raise
            logger.info(f"left out: {nothing}")
        else:
            yield from write_rendered(contents[-1], results)
    if not contents:
        raise UserError(f"{results}: no run that counts is finished; `normexp reproduce NAME` goes on")
    yield from write_pages(contents, results, everything=not chosen)


def figures_to(out: str, words: Sequence[str], formats: Sequence[str], style: str, width: str | None) -> Iterator[Path]:
    """Draw the figures of experiments into OUT/NAME/SCALE; yield the files written."""
    from normexp.report.experiment.render import draw_figures
    from normexp.report.figures.formats import check_formats, look
    from normexp.report.files import write

    chosen, wanted = look(style, width), check_formats(formats)
    check_writable(Path(out), "--out")
    named, given = split(words, RENDER)
    files = {_folder(word): word for word in named}
    for folder in recorded(words):
        experiment = load(files.get(folder.parent.name, folder.parent.name), folder.name, plugins_of(given))
        for name, content in draw_figures(experiment, folder.parent.parent, chosen, wanted).items():
            yield write(Path(out) / experiment.name / experiment.scale / name, content)


def plugins_of(given: Mapping[str, str]) -> list[str]:
    """Return the modules that were typed as plugins=[...]."""
    return list(plain_value(parse_overrides([f"{PLUGINS}={given.get(PLUGINS, '[]')}"])[0]))


def _folder(name: str) -> str:
    """Return the folder in which an experiment's records lie: that of a file of somebody's own has the file's name."""
    return Path(name).stem if is_file(name) else name


def recorded(words: Sequence[str], keys: Sequence[str] = RENDER) -> list[Path]:
    """Return the folders results/NAME/SCALE that are asked for.

    Args:
        keys: that may be given.

    Raises: UserError where there is none, or none of an experiment that is named.
    """
    chosen, given = split(words, keys)
    results = Path(given.get("results_dir", "results"))
    asked = [given["scale"]] if "scale" in given else SCALES
    folders = [results / _folder(name) / scale for name in chosen or names() for scale in asked]
    found = [folder for folder in folders if folder.is_dir()]
    if not found:
        raise _empty(results, "such records of an experiment")
    _check_there(chosen, {folder.parent.name for folder in found}, given, f"{results} holds no such records of it")
    return found


def _check_there(chosen: Sequence[str], there: Collection[str], given: Mapping[str, str], lack: str) -> None:
    """Raise UserError for an experiment that is named beside others, and of which there is nothing."""
    for name in chosen:
        if _folder(name) not in there:
            scale = f" scale={given['scale']}" if "scale" in given else ""
            raise UserError(f"{name}: {lack}; leave it out, or start with `normexp reproduce {quote(name)}{scale}`")


def _empty(results: Path, what: str) -> UserError:
    start = nearest_path(results) or "; start with `normexp reproduce NAME`"
    return UserError(f"{results}: holds no {what}{start}")


def ledger(words: Sequence[str], plain: bool = False) -> str:
    """Return the ledger of claims as Markdown, or as JSON; that of everything is written to results/claims.md.

    Args:
        words: names of experiments, scale=, results_dir=; by default all that has a report.
        plain: as JSON.
    """
    chosen, given = split(words, REPORT)
    results = Path(given.get("results_dir", "results"))
    wanted = {_folder(name) for name in chosen}
    reports = [
        report for report in read_reports(results)
        if report.experiment in (wanted or {report.experiment}) and report.scale == given.get("scale", report.scale)
    ]  # fmt: skip
    if not reports:
        raise _empty(results, "judged claims")
    _check_there(chosen, {report.experiment for report in reports}, given, f"{results} holds no judged claims of it")
    everything = not chosen and "scale" not in given
    lines = [*as_markdown(reports), *(summary(entries(results)) if everything else ())]
    text = markdown_links(cited("\n".join(lines).rstrip() + "\n"))
    if everything:
        write_atomically(results / LEDGER, text)
    return plain_json(as_json(reports)) if plain else text


def split(words: Sequence[str], keys: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the names and the `key=value` pairs. Raises UserError for a name or a key that does not exist."""
    chosen = [word for word in words if "=" not in word]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    check_once(word for word in words if "=" in word)
    for name in chosen:
        if name not in names() and not is_file(name):
            raise unknown_experiment(name)
    for key in given:
        if key not in keys:
            raise unknown("key", key, keys)
    if "scale" in given:
        parse(" | ".join(SCALES), "").check("scale", given["scale"])
    return chosen, given


def laws_page(words: Sequence[str], plain: bool = False) -> str:
    """Return the page of laws as text, or as JSON.

    Args:
        words: names of experiments, results_dir=; by default every law.
    """
    from normexp.report.laws import as_json as laws_as_json
    from normexp.report.laws import page, read_laws

    chosen, given = split(words, ("results_dir",))
    found = read_laws(Path(given.get("results_dir", "results")), chosen)
    if plain:
        return plain_json(laws_as_json(found))
    return "\n".join(page(found)) + "\n"
