"""`normexp reproduce`: the experiments that are named, run one after the other, and shown."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from normexp.config.identity import PATH_KEYS
from normexp.config.one_value import one_value
from normexp.config.options import groups, keys_by_word
from normexp.config.overrides import parse_overrides
from normexp.config.own import PLUGINS
from normexp.errors import Submitted, Unavailable, UserError, nearest_path
from normexp.evidence.claims import still_open
from normexp.evidence.scales import PAPER
from normexp.experiments.checks.composed import composed
from normexp.experiments.experiment import Experiment
from normexp.experiments.keys import FILES, REPRODUCE, RESULTS
from normexp.experiments.load import document_of, laws, load, names, read, scales, usual_scale
from normexp.experiments.reproduce import Reproduction, chosen_arms
from normexp.records import printable, read_json
from normexp.records.files import MOST_TEXT
from normexp.records.names import CLAIMS
from normexp.report.commands.named import plugins_of, results_of, split
from normexp.report.ledger.judged import shown_verdict
from normexp.sweeps.submit import Sharing, kept_workers
from normexp.sweeps.sweep import take_sharing
from normexp.sweeps.taken import Elsewhere

logger = logging.getLogger("normexp")


def reproduce_all(
    words: Sequence[str],
    *,
    everything: bool,
    arm: str | None,
    jobs: int | None,
    dry_run: bool,
    force: bool,
    plan_only: bool,
    of_laws: bool,
    take: str | None = None,
) -> int:
    """Run and render the experiments that are named; return 1 if a run failed.

    Args:
        of_laws: run every experiment that tests a law, at full scale unless `scale` says otherwise.
        plan_only: run nothing; say how many seeds would decide the claims that are undecided.
        take: folder or archive whose finished runs count for those that have the same settings.

    Of several, one whose data cannot be had is left out and said; the exit status is then 2. Raises Unavailable for
    one by itself.
    """
    sharing, words = take_sharing(words, jobs, force)
    if plan_only:
        _check_runs_nothing(arm, dry_run, force, take, sharing)
    if force and take is not None:
        raise UserError("reproduce: --force trains all again, and --take takes what is trained; give one of the two")
    elsewhere = Elsewhere(None if take is None else Path(take))
    experiments, results = _wanted(words, everything, of_laws)
    _ = elsewhere.runs  # a path without any is refused before anything is built
    if plan_only:
        return _plan(experiments, results)
    planned = [
        Reproduction(each, results, chosen_arms(each, arm), partial(_open, each, results), dry_run, force)
        for each in experiments
    ]
    with kept_workers(sharing) as sharing:  # with what they know of the data and of how long a step takes
        planned = [replace(each, sharing=sharing, elsewhere=elsewhere) for each in planned]
        _check_own(planned[1:])
        return max([_reproduce(each, alone=len(planned) == 1) for each in planned])


def _check_own(planned: Sequence[Reproduction]) -> None:
    """Raise UserError for an experiment of somebody's own with a run that would be refused, before those above it."""
    for each in planned:
        if each.experiment.file:
            with suppress(Unavailable):  # it is left out when its turn comes
                each.check()


def _check_runs_nothing(arm: str | None, dry_run: bool, force: bool, take: str | None, sharing: Sharing) -> None:
    """Raise UserError for what says how to train, or what, beside --power."""
    given = {"--cell": arm is not None, "--dry-run": dry_run, "--force": force, "--take": take is not None}
    given |= {"jobs=": sharing.jobs is not None, "stack=": sharing.stack != "false"}
    given |= {"executor=": sharing.settings is not None}
    if wrong := next((name for name, is_given in given.items() if is_given), None):
        raise UserError(f"reproduce: --power runs nothing, and looks at all arms; leave out {wrong}")


def _wanted(words: Sequence[str], everything: bool, of_laws: bool) -> tuple[list[Experiment], Path]:
    """Return the experiments that the words name, with what they say of every run, and the folder of results."""
    _check_settings(words)
    chosen, given = split(words, REPRODUCE)
    kinds = [flag for flag, asked in (("--all", everything), ("--laws", of_laws)) if asked] + chosen[:1]
    if not kinds:
        raise UserError("reproduce: no experiment named; give a NAME (normexp list experiments), --all or --laws")
    if kinds[1:]:
        raise UserError(f"reproduce: {kinds[0]} and {kinds[1]}: give one of the two")
    chosen = laws() if of_laws else chosen
    results, plugins, scale = results_of(given), plugins_of(given), given.get("scale", PAPER if of_laws else None)
    rest = {key: value for key, value in given.items() if key not in (RESULTS, PLUGINS, "scale")}
    _check_files(rest)
    extra = {key: one_value(*parse_overrides([f"{key}={value}"])) for key, value in rest.items()}
    wanted = {name: _nearest_scale(name, scale) for name in names()} if everything else dict.fromkeys(chosen, scale)
    if len(wanted) == 1:
        _check_data(*next(iter(wanted.items())), plugins, extra)
    experiments = [load(name, at, plugins) for name, at in wanted.items()]
    for experiment in experiments:
        _check_typed(experiment, extra)
    return [each.with_extra(extra) for each in experiments], results


def _check_settings(words: Sequence[str]) -> None:
    """Raise UserError for a setting of runs, as their rate or their seed, which the file of an experiment alone has."""
    for word in words:
        key, equals, _ = word.partition("=")
        if equals and key not in (*REPRODUCE, *PATH_KEYS) and (key in groups() or key in keys_by_word().values()):
            copy = f"change {key} in a copy of it, and `normexp reproduce COPY.yaml`"
            beside = ", ".join(REPRODUCE)
            raise UserError(f"{word}: the runs of an experiment are made as its file says; {copy}; allowed: {beside}")


def _check_typed(experiment: Experiment, extra: Mapping[str, object]) -> None:
    """Raise UserError for a key that the experiment varies by itself, so that what is typed would not count."""
    varied = {"grid": experiment.grid, **{f"arms.{arm}": own for arm, own in experiment.arms.items()}}
    if experiment.select:
        varied |= {"select.search": experiment.select.search, "select.common": experiment.select.common}
    for key, value in extra.items():
        if place := next((place for place, own in varied.items() if key in own), None):
            raise UserError(f"{key}={value}: {experiment.name} has {place}.{key}, which would count; leave it out")


def _reproduce(planned: Reproduction, alone: bool) -> int:
    """Run and render one experiment; return its exit status, 2 where one of several cannot have its data."""
    name = planned.experiment.name
    try:
        status = planned.run()
    except Submitted as elsewhere:
        logger.info(f"{name}: {elsewhere}; it then goes on, or shows the table")
        return 0
    except Unavailable as error:
        if alone:
            raise
        logger.info(f"{name}: left out: {'; '.join(str(error).splitlines())}")
        return 2
    if not planned.dry_run and not status:
        _show(planned.experiment, planned.results)
    return status


def _open(experiment: Experiment, results: Path) -> list[str]:
    """Return the claims that the records leave open."""
    from normexp.report.experiment.claims import judged
    from normexp.report.frames.measured import read_measured

    return still_open(judged(experiment, read_measured(experiment, results)))


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
    config = composed(experiment, document_of(name), arm, point[0])
    for key in FILES:
        group, _, leaf = key.partition(".")
        if key in extra and leaf not in config[group]:
            chosen = config.choices[group]
            raise UserError(
                f"{name} at scale={experiment.scale} is made with dataset={chosen}, which has no {key}; leave it out"
            )
    to_download([experiment.with_extra(extra).config(arm, point[0])])


def _plan(experiments: Sequence[Experiment], results: Path) -> int:
    from normexp.report.commands.power import power

    for experiment in experiments:
        print("\n".join(printable(line, MOST_TEXT) for line in power(experiment, results)))
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
        changed = "; changed after the first run" if entry["changed"] else ""
        print(printable(f"{shown_verdict(entry)}: {entry['text']} ({entry['evidence']}{changed})", MOST_TEXT))
    print()
    for path in written:
        print(path)
