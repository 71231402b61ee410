"""How time grows with batch size, with width, and with the number of run directories."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from normexp.bench.commands import normexp, seconds
from normexp.bench.race import race
from normexp.bench.result import Result
from normexp.bench.suites.steps import CNN
from normexp.errors import UserError

BATCHES = (8, 32, 128, 512)
WIDTHS = (0.5, 1.0, 2.0)
DIRECTORIES = (10, 1000, 10000)


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Measure the three, one table each."""
    if overrides:
        raise UserError(f"bench growth: {overrides[0]!r}: takes no overrides")
    rounds = 1 if quick else min(rounds, 3)
    yield steps("batch size", {str(n): (*CNN[:3], "norm=batch", f"batch_size={n}") for n in BATCHES}, rounds)
    wide = {f"{w:g}": (*CNN, f"model.widths=[{','.join(str(int(w * c)) for c in (32, 64, 128, 128))}]") for w in WIDTHS}
    yield steps("width", wide, rounds)
    yield directories(DIRECTORIES[: 2 if quick else None])


def steps(what: str, works: Mapping[str, tuple[str, ...]], rounds: int) -> Result:
    """Return images per second of normexp relative to the first value."""
    speeds = {}
    for name, work in works.items():
        size = int(next(word for word in work if word.startswith("batch_size=")).partition("=")[2])
        speeds[name] = max(size * speed for speed in race(["normexp"], work, rounds, 1.0)[0].speeds)
    base = next(iter(speeds.values()))
    return Result(
        name=f"growth-{what.replace(' ', '-')}",
        caption=f"Small cnn, CIFAR-10 shape, batch norm: images per second against {what}, relative to the first.",
        headers=[what, "images per second, relative"],
        cells=[[name, f"{speed / base:.2f}"] for name, speed in speeds.items()],
        data=speeds,
    )


def directories(counts: Sequence[int]) -> Result:
    """Time `status` and `table` over copies of one run directory that differ in their seed."""
    times: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        seconds(normexp("run", "model=linear", "epochs=2", "--quiet", f"results_dir={root / 'one'}"))
        (run,) = (root / "one" / "runs").iterdir()
        made = 0
        for count in counts:
            for seed in range(made, count):
                copy_with_seed(run, root / "many" / str(seed), seed)
            made = count
            times[count] = {verb: seconds(normexp(verb, str(root / "many"))) for verb in ("status", "table")}
    return Result(
        name="growth-directories",
        caption="Seconds of whole commands, here and now, against the number of run directories.",
        headers=["run directories", "status", "table"],
        cells=[[f"{count:,}", *(f"{spent:.2f}" for spent in own.values())] for count, own in times.items()],
        data=times,
    )


def copy_with_seed(run: Path, place: Path, seed: int) -> None:
    place.mkdir(parents=True)
    for name in ("status.json", "metrics.csv", "environment.json"):
        shutil.copy(run / name, place / name)
    text = (run / "config.yaml").read_text().replace("\nseed: 0\n", f"\nseed: {seed}\n")
    (place / "config.yaml").write_text(text)
