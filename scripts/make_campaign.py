"""Write the tables of docs/campaign.md: what the results cost, what fresh seeds would decide, what has not run yet.

python scripts/make_campaign.py

Hours are those in which a core was held: the seconds of every run times its threads, on whatever machine it ran and
whatever ran beside it. Runs that chose a rate are among them where they were kept.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from math import prod
from pathlib import Path

from normexp.evidence.claims import NOT_YET, UNDECIDED
from normexp.evidence.claims.power import seeds_that_agree
from normexp.evidence.scales import SMOKE
from normexp.evidence.stats import Design
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.halving import last_rung
from normexp.experiments.load import names, read, scales
from normexp.experiments.noise import best_two_within_noise
from normexp.experiments.selection import recorded_selection
from normexp.experiments.trials import SEEDS
from normexp.records import FINISHED, RunDirectory, find_runs
from normexp.records.names import ARCHIVE, CLAIMS, CONFIG
from normexp.report.ledger.judged import Judged, read_report, tested

TOP = Path(__file__).resolve().parent.parent
DOCUMENT = TOP / "docs" / "campaign.md"
MOST_SEEDS = 60  # more of them would better be an equivalence with a margin
TO_CHOOSE = """"To choose" are as many runs as there may be: the further seeds of `ties` are trained only where the best
two lie within noise."""


def with_records() -> list[Path]:
    """Return the folders results/NAME/SCALE with records, in one archive or, where they are many, in several."""
    results = TOP / "results"
    found = {archive.relative_to(results).parts[:2] for archive in results.glob(f"*/*/**/{ARCHIVE}")}
    return [results / name / scale for name, scale in sorted(found)]


def spent() -> Iterator[list[str]]:
    """Yield experiment, scale, arms, seeds, runs and core-hours of every experiment with records.

    A run that several experiments have counts for the first of them.
    """
    counted: set[str] = set()
    for scale in with_records():
        if scale.parent.name in names() and scale.name in scales(scale.parent.name):
            experiment = read(scale.parent.name, scale.name)
            runs = {trace(run): run for run in runs_of(scale)}
            own = [run for key, run in runs.items() if key not in counted]
            counted |= set(runs)
            counts = (len(experiment.arms), len(experiment.grid["seed"]), len(own))
            yield [experiment.name, experiment.scale, *map(str, counts), f"{core_hours(own):.2f}"]


def trace(run: RunDirectory) -> str:
    """Return what no run but a copy shares: its settings, where and from which commit it ran, and for how long."""
    return repr((run.has(CONFIG) and run.text(CONFIG), run.environment, run.status))


def decidable() -> Iterator[list[str]]:
    """Yield experiment, scale, open claims, those that few enough fresh seeds would decide, seeds and core-hours."""
    for path in sorted((TOP / "results").glob(f"*/*/{CLAIMS}")):
        report = read_report(path)
        open_claims = [claim for claim in report.claims if claim["verdict"] == UNDECIDED]
        if not open_claims:
            continue
        experiment, family = read(path.parent.parent.name, path.parent.name), len(tested([report]))
        needed = [fresh_seeds(claim, family, experiment.design) for claim in open_claims]
        seeds = [count for count in needed if count is not None and count <= MOST_SEEDS]
        if seeds:
            hours = max(seeds) * hours_per_seed(experiment, path.parent)
            counts = (len(open_claims), len(seeds), max(seeds))
            yield [*path.parent.parts[-2:], *map(str, counts), f"{hours:.2f}"]


def fresh_seeds(claim: Judged, family: int, design: Design | None) -> int | None:
    """Return how many decide an open claim if all is as observed: its effect, or that all runs agree."""
    if found := claim["fresh_seeds"]:
        return found["observed"]
    return seeds_that_agree(claim["n"], claim["p"], family, design)


def hours_per_seed(experiment: Experiment, scale: Path) -> float:
    seeds = experiment.grid["seed"]
    return core_hours(run for run in runs_of(scale) if seed(run) in seeds) / len(seeds)


@cache
def runs_of(scale: Path) -> list[RunDirectory]:
    return find_runs([scale], may_lack=True)  # what is frozen alone has none


def seed(run: RunDirectory) -> int:
    """Return the seed that the name of a run ends with, before the steps of a trial."""
    return int(run.path.name.rpartition("seed=")[2].partition(",")[0])


def core_hours(runs: Iterable[RunDirectory]) -> float:
    return sum(run.status.get("seconds", 0.0) * run.environment.get("threads", 1) for run in runs) / 3600


def waiting() -> Iterator[list[str]]:
    """Yield experiment, scale, arms, seeds, runs that count, runs that choose and what is trained of both.

    Of an experiment without records every scale counts, of another those that are trained in part.
    """
    folders = with_records()
    for name in names():
        there = [folder.name for folder in folders if folder.parent.name == name]
        for scale in scales(name):
            experiment, folder = read(name, scale), TOP / "results" / name / scale
            counted, chosen = trained(experiment, folder)
            left = len(experiment.arms) * len(experiment.points()) - counted
            waits = (left and undecided(experiment, folder)) or are_tied(experiment)
            if (scale in there and waits) or not (there or scale == SMOKE):
                yield [*declared(experiment), str(counted), str(chosen)]


def undecided(experiment: Experiment, folder: Path) -> bool:
    """Tell whether runs that are not there are missing: under looks only while a claim is open."""
    path = folder / CLAIMS
    verdicts = {claim["verdict"] for claim in read_report(path).claims} if path.exists() else {NOT_YET}
    return experiment.design is None or bool(verdicts & {UNDECIDED, NOT_YET})


def are_tied(experiment: Experiment) -> bool:
    """Tell whether best two that lie within noise have yet to train with the further seeds that are declared."""
    select, record = experiment.select, recorded_selection(experiment, TOP / "results")
    if select is None or not select.ties or record is None:
        return False
    last = map(last_rung, record["tried"].values())
    return any(SEEDS not in tried[0] and best_two_within_noise(tried, experiment, select) for tried in last)


def trained(experiment: Experiment, folder: Path) -> tuple[int, int]:
    """Return how many runs are finished, of those that count and of those that choose."""
    runs = runs_of(folder) if folder.exists() else []
    done = {run.path for run in runs if run.status["status"] in FINISHED}
    counted = {
        run_place(TOP / "results", experiment, arm, point) for arm in experiment.arms for point in experiment.points()
    }
    return len(done & counted), sum(path.parents[1].name == "select" for path in done)


def declared(experiment: Experiment) -> list[str]:
    seeds, points = len(experiment.grid["seed"]), len(list(experiment.points()))
    counts = (len(experiment.arms), seeds, len(experiment.arms) * points, trials(experiment))
    return [experiment.name, experiment.scale, *map(str, counts)]


def trials(experiment: Experiment) -> int:
    """Return how many runs choose hyperparameters at most: all combinations at the first rung, those kept at the
    others, the best two with the further seeds of ties.
    """
    select = experiment.select
    if select is None:
        return 0
    places = prod(len(experiment.grid[axis]) for axis in select.per)
    tried = prod(map(len, select.search.values())) + sum(select.halving.keep if select.halving else ())
    of_a_choice = tried * len(select.seeds) + 2 * len(select.ties)
    return len(experiment.selection_arms(list(experiment.arms))) * places * of_a_choice


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * 2 + ["---:"] * (len(heads) - 2), *rows)]
    return "\n".join(lines)


def blocks() -> dict[str, str]:
    """Return name of a block of the document -> its text."""
    rows = list(spent())
    total = f"{sum(int(row[4]) for row in rows):,} runs and {sum(float(row[-1]) for row in rows):.1f} core-hours"
    heads = ["experiment", "scale", "arms", "seeds", "runs"]
    return {
        "spent": f"{len(rows)} sets of records hold {total}.\n\n{table([*heads, 'core-hours'], rows)}",
        "decidable": table([*heads[:2], "open claims", "decidable", "seeds", "core-hours"], list(decidable())),
        "waiting": waiting_table([*heads, "and to choose", "trained", "of those to choose"]),
    }


def waiting_table(heads: list[str]) -> str:
    """Return the table of what is declared and not all trained, under what its words mean; a sentence where all is."""
    rows = list(waiting())
    return f"{TO_CHOOSE}\n\n{table(heads, rows)}" if rows else "Nothing: whatever is declared is trained."


def written(text: str) -> str:
    """Return the document with every block made anew."""
    for name, block in blocks().items():
        before, first, rest = text.partition(f"<!-- {name} -->")
        text = f"{before}{first}\n{block}\n<!-- /{name} -->{rest.partition(f'<!-- /{name} -->')[2]}"
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
