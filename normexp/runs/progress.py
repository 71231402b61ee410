"""What a person sees while a run trains: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from tqdm import tqdm

from normexp.evidence.metrics import is_share

LINE_EVERY = 2.0  # seconds between plain lines at most; the last one is always printed


class NullProgress:
    """Shows nothing, and is what any display of a run must be able to do."""

    estimates = False  # whether somebody looks who wants to know beforehand how long it takes

    def __init__(self, steps: int, steps_per_epoch: int, batch_size: int, done: int = 0) -> None:
        """Begin: the run has `steps` updates, `done` of them done by an earlier attempt."""

    def poll(self, done: int, loss: float) -> None:
        """Show how far the run is; called a few times a second, after `done` updates."""

    def evaluated(self, done: int, row: Mapping[str, object]) -> None:
        """Show the results of an evaluation."""

    def close(self) -> None:
        """End, however the run ended."""


Progress = type[NullProgress]  # what makes the display of a run


class ProgressReporter(NullProgress):
    """Shows epoch, loss, score, images per second and the time left, on standard error.

    Args:
        steps, steps_per_epoch, batch_size: the size of the run.
        done: steps that an earlier attempt has done.
    """

    estimates = True

    def __init__(self, steps: int, steps_per_epoch: int, batch_size: int, done: int = 0) -> None:
        self.steps, self.steps_per_epoch, self.batch_size = steps, steps_per_epoch, batch_size
        self.live = sys.stderr.isatty()
        self._began, self._first, self._last_line, self._score = time.monotonic(), done, 0.0, ""
        layout = "{desc} |{bar}| {remaining} left"  # the bar takes what room the words leave
        self._bar = tqdm(
            total=steps, initial=done, disable=not self.live, leave=False, dynamic_ncols=True, bar_format=layout
        )

    def poll(self, done: int, loss: float) -> None:
        if self.live:
            shown = f"epoch {self._epoch(done)}, loss {loss:.4g}{self._score}, {self._speed(done):,.0f} images/s"
            self._bar.set_description_str(shown, refresh=False)
            self._bar.update(done - self._bar.n)

    def evaluated(self, done: int, row: Mapping[str, object]) -> None:
        score = watched([name for name, value in row.items() if value is not None])
        self._score = f", {format_metric(score, row[score])}" if score else ""
        loss = row.get("train/loss")
        if isinstance(loss, float):
            self.poll(done, loss)
        due = time.monotonic() - self._last_line > LINE_EVERY or done >= self.steps
        if not self.live and due and done > self._first:
            self._last_line = time.monotonic()
            with suppress(OSError):  # the reader has gone, as in `2>&1 | head`, or the disk is full; training goes on
                print(self._line(done, row), file=sys.stderr)

    def close(self) -> None:
        self._bar.close()

    def _line(self, done: int, row: Mapping[str, object]) -> str:
        scores = row if done >= self.steps else _without_test(row)
        shown = "  ".join(
            format_metric(name, value) for name, value in scores.items() if "/" in name and value is not None
        )
        left = (self.steps - done) * (time.monotonic() - self._began) / max(1, done - self._first)
        end = f"  {format_duration(left)} left" if done < self.steps else ""
        return f"epoch {self._epoch(done)}  step {done}/{self.steps}  {shown}{end}"

    def _epoch(self, done: int) -> str:
        """Return which epoch this is, of how many that are begun: 40 steps of 19 an epoch end in epoch 3/3."""
        return f"{math.ceil(done / self.steps_per_epoch)}/{math.ceil(self.steps / self.steps_per_epoch)}"

    def _speed(self, done: int) -> float:
        return (done - self._first) * self.batch_size / max(1e-9, time.monotonic() - self._began)


def _without_test(row: Mapping[str, object]) -> Mapping[str, object]:
    """Leave out the test split, which is for the end: nobody should choose by it."""
    return {name: value for name, value in row.items() if not name.startswith("test/")}


def watched(columns: Iterable[str]) -> str:
    """Return the column of metrics.csv to watch a training by: validation's, else training's score, never test's.

    Empty where there is none.
    """
    scores = [name for name in columns if name.startswith(("train/", "validation/")) and not name.endswith("loss")]
    return max(scores, key=lambda name: name.startswith("validation/"), default="")


def format_metric(name: str, value: object) -> str:
    """Return a column and a value in words: `test accuracy 97.50 %`."""
    assert isinstance(value, float)
    text = f"{100 * value:.2f} %" if is_share(name) else f"{value:.4g}"
    return f"{name.replace('/', ' ')} {text}"


def format_duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{max(1, round(seconds))} s"
