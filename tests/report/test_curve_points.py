"""Long curves: what is drawn of them takes time in proportion to their length."""

from __future__ import annotations

from normexp.report.curves import _points


class Counted(dict):
    """A run's values that count how often they are gone through."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


def test_curve_points_go_through_a_run_a_few_times_only():
    runs = [Counted({step: float(step + seed) for step in range(200)}) for seed in range(3)]
    points = _points(runs)
    assert [point.mean for point in points] == [step + 1.0 for step in range(200)]
    assert max(run.passes for run in runs) < 5
