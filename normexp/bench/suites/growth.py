"""How time grows with batch size, width, evaluations, the number of run directories and the length of curves."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from normexp.bench.commands import Usage, seconds, usage
from normexp.bench.race import race
from normexp.bench.result import Result, note_of_load
from normexp.bench.suites.steps import CNN
from normexp.children import normexp
from normexp.config import compose

BATCHES = (8, 32, 128, 512)
WIDTHS = (0.5, 1.0, 2.0)
EVALUATIONS = (1, 10, 100)
DIRECTORIES = (10, 1000, 10000)
ROWS = (100, 1000, 10000)
VERBS = ("status", "table", "plot", "run")
TINY = ("run", "model=linear", "epochs=2", "threads=1")


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Measure one after the other, one table each."""
    yield directories(DIRECTORIES[: 2 if quick else None])
    yield rows(ROWS[: 2 if quick else None])
    yield steps("batch size", {str(n): (*CNN[:3], "norm=batch", f"batch_size={n}") for n in BATCHES}, rounds)
    wide = {f"{w:g}": (*CNN, f"model.widths=[{','.join(str(int(w * c)) for c in (32, 64, 128, 128))}]") for w in WIDTHS}
    yield steps("width", wide, rounds)
    yield evaluations(rounds)


def steps(what: str, works: Mapping[str, tuple[str, ...]], rounds: int) -> Result:
    """Return images per second of normexp relative to the first value."""
    speeds = {}
    for name, work in works.items():
        size = compose(work)["batch_size"]
        speeds[name] = max(size * speed for speed in race(["normexp"], work, rounds, 1.0)[0].speeds)
    base = next(iter(speeds.values()))
    return Result(
        name=f"growth-{what.replace(' ', '-')}",
        caption=f"Small cnn, CIFAR-10 shape, batch norm: images per second against {what}, relative to the first.",
        headers=[what, "images per second, relative"],
        cells=[[name, f"{speed / base:.2f}"] for name, speed in speeds.items()],
        data=speeds,
    )


def evaluations(rounds: int) -> Result:
    """Time whole runs that evaluate more and more often; the least time of the rounds counts."""
    times: dict[int, float] = {}
    for count in EVALUATIONS:
        work = ("run", "model=mlp", "steps=1000", f"eval_every={1000 // count}", "--quiet", "--force")
        with tempfile.TemporaryDirectory() as folder:
            times[count] = min(seconds(normexp(*work, f"results_dir={folder}")) for _ in range(rounds))
    first = times[EVALUATIONS[0]]
    return Result(
        name="growth-evaluations",
        caption="Seconds of a whole run, here and now (mlp on digits, 1,000 steps), against evaluations after the "
        "first; milliseconds that each one adds.",
        headers=["evaluations", "seconds", "ms each"],
        cells=[[f"{n}", f"{t:.2f}", f"{1e3 * (t - first) / (n - 1):.1f}" if n > 1 else ""] for n, t in times.items()],
        data=times,
    )


def directories(counts: Sequence[int]) -> Result:
    """Time the verbs that read results, and a further run, over copies of one run directory with other seeds."""
    times: dict[int, dict[str, Usage]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        run = one_run(root)
        made = 0
        for count in counts:
            for seed in range(made, count):
                copy_with_seed(run, root / "many" / "runs" / str(seed), seed)
            made = count
            times[count] = timed(root / "many", root / "figures")
    return verbs("directories", "the number of run directories", "run directories", times)


def rows(counts: Sequence[int]) -> Result:
    """Time the same verbs over ten runs with longer and longer curves."""
    times: dict[int, dict[str, Usage]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        run = one_run(root)
        for count in counts:
            for seed in range(10):
                target = root / str(count) / "runs" / str(seed)
                copy_with_seed(run, target, seed)
                lengthen(target, count)
            times[count] = timed(root / str(count), root / "figures")
    return verbs("rows", "the number of evaluations recorded in each of ten runs", "rows of metrics.csv", times)


def one_run(root: Path) -> Path:
    seconds(normexp(*TINY, "--quiet", f"results_dir={root / 'one'}"))
    return next((root / "one" / "runs").iterdir())


def timed(results: Path, figures: Path) -> dict[str, Usage]:
    """Measure each verb over a folder of results; `run` trains one more of its kind there, and compares it."""
    words = {
        "plot": ("plot", str(results), "--out", str(figures)),
        "run": (*TINY, "seed=1000000", f"results_dir={results}", "--force"),
    }
    return {verb: usage(normexp(*words.get(verb, (verb, str(results))))) for verb in VERBS}


def verbs(name: str, what: str, header: str, times: Mapping[int, Mapping[str, Usage]]) -> Result:
    cells = [
        [f"{count:,}", *(f"{own[verb].seconds:.2f}" for verb in VERBS), f"{own['table'].memory / 1e6:,.0f}"]
        for count, own in times.items()
    ]
    return Result(
        name=f"growth-{name}",
        caption=f"CPU seconds of whole commands against {what}; `run` trains one more of their kind beside them.",
        headers=[header, *VERBS, "MB of table"],
        cells=cells,
        notes=(note_of_load(),),
        data={count: {verb: asdict(used) for verb, used in own.items()} for count, own in times.items()},
    )


def lengthen(run: Path, count: int) -> None:
    """Repeat the last row of a curve until it has `count` rows, with steps that go on."""
    head, *lines = (run / "metrics.csv").read_text(encoding="utf-8").splitlines()
    last = lines[-1].partition(",")[2]
    status = json.loads((run / "status.json").read_text(encoding="utf-8"))
    more = [f"{step},{last}" for step in range(status["step"] + 1, status["step"] + 1 + count - len(lines))]
    (run / "metrics.csv").write_text("\n".join([head, *lines, *more]) + "\n", encoding="utf-8")
    steps = status["step"] + len(more)
    (run / "status.json").write_text(json.dumps({**status, "step": steps, "steps": steps}), encoding="utf-8")


def copy_with_seed(run: Path, target: Path, seed: int) -> None:
    target.mkdir(parents=True)
    for name in ("metrics.csv", "environment.json"):
        shutil.copy(run / name, target / name)
    status = json.loads((run / "status.json").read_text(encoding="utf-8"))
    unsigned = {key: status[key] for key in status if key != "sha256"}
    (target / "status.json").write_text(json.dumps(unsigned), encoding="utf-8")
    text = (run / "config.yaml").read_text(encoding="utf-8").replace("\nseed: 0\n", f"\nseed: {seed}\n")
    (target / "config.yaml").write_text(text, encoding="utf-8")
