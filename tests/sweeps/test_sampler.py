"""`sampler=`: trials by Optuna's samplers are ordinary runs, the same ones wherever the command was stopped."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from in_process import InProcess
from optuna.storages import JournalStorage

from normexp.records import RunDirectory, find_runs
from normexp.records.names import JOURNAL
from normexp.sweeps import sampler as sampling
from normexp.sweeps import sweep as sweeping
from normexp.sweeps.journal import Journal
from normexp.sweeps.pool import STOPPED
from normexp.sweeps.watch import views_of

pytestmark = pytest.mark.slow  # tests/experiments/test_sampling.py has the quick ones

SMALL = ("dataset=digits", "model=linear", "steps=4", "device=cpu", "threads=1", "recipe=none", "jobs=1")
RATE = "optim.lr=tag(log,interval(0.001,1))"
TRIALS = 12  # tpe draws its first ten at random


class Killed(BaseException):
    """Nobody catches it."""


@pytest.fixture
def sweep(cli, tmp_path, workers_here):
    """Run `normexp sweep` with a worker in this process: sweep("folder", *words) -> (status, stderr)."""

    def call(folder: str, *words: str) -> tuple[int, str]:
        status, _, stderr = cli("sweep", *SMALL, f"results_dir={tmp_path / folder}", *words)
        return status, stderr

    return call


def trials(folder: Path) -> list[dict[str, float]]:
    """Return what Optuna's storage has of each trial: its values and its score, by study."""
    lines = [json.loads(line) for line in (folder / JOURNAL).read_text().splitlines()]
    return [{**line["params"], "score": line["value"]} for line in lines if "params" in line]


def rates(folder: Path) -> set[float]:
    return {run.config["optim"]["lr"] for run in find_runs([folder])}


@pytest.mark.parametrize("sampler", ["tpe", pytest.param("random", marks=pytest.mark.slow)])
def test_a_search_that_was_stopped_goes_on_with_the_same_trials(sweep, tmp_path, monkeypatch, sampler):
    words = (RATE, f"sampler={sampler}", f"trials={TRIALS}")
    assert sweep("whole", *words)[0] == 0
    whole = trials(tmp_path / "whole")
    assert len(whole) == len({trial["optim.lr"] for trial in whole}) == TRIALS
    assert all(0.001 <= trial["optim.lr"] <= 1 for trial in whole)
    train, calls = sweeping.run_plan, []

    def mortal(*arguments: object) -> int:
        calls.append(1)
        if len(calls) == TRIALS:  # trained, and killed before it is scored
            train(*arguments)
            raise Killed
        return train(*arguments)

    monkeypatch.setattr(sweeping, "run_plan", mortal)
    with pytest.raises(Killed):
        sweep("stopped", *words)
    assert len(trials(tmp_path / "stopped")) == TRIALS - 1
    monkeypatch.setattr(sweeping, "run_plan", train)
    assert sweep("stopped", *words)[0] == 0
    assert trials(tmp_path / "stopped") == whole
    assert rates(tmp_path / "stopped") == {trial["optim.lr"] for trial in whole}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_search_that_is_stopped_between_two_trials_says_how_it_goes_on(sweep, tmp_path, monkeypatch, sent):
    words = (RATE, "sampler=random", "trials=3")
    score = sampling._score

    def stopped(plan):
        os.kill(os.getpid(), sent)
        return score(plan)

    monkeypatch.setattr(sampling, "_score", stopped)
    status, text = sweep("r", *words)
    assert (status, text.splitlines()[-1]) == (130, f"normexp: {STOPPED}")
    monkeypatch.setattr(sampling, "_score", score)
    assert sweep("r", *words)[0] == 0
    assert len(trials(tmp_path / "r")) == 3


def test_what_all_trials_share_is_said_once(sweep):
    words = (RATE, "sampler=random", "trials=3", "dataset=digits,covariate_shift", "recipe=auto", "epochs=null")
    lines = sweep("r", *words)[1].splitlines()
    first = next(number for number, line in enumerate(lines) if "trial 1 of 3" in line)
    assert [number < first for number, line in enumerate(lines) if "recipe:" in line] == [True, True]
    assert [line.rpartition(" with ")[2] for line in lines if " with jobs=" in line] == [
        "jobs=1, for 3 trials, timed by a few steps of each kind of run"
    ]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_search_that_is_killed_while_it_writes_goes_on(sweep, tmp_path, monkeypatch, moment):
    words = (RATE, "sampler=random", "trials=3")
    sweep("whole", *words)
    replace, calls = os.replace, []

    def mortal(source, place):
        calls.append(Path(place).name == JOURNAL)
        if sum(calls) == 3 and moment == "before":  # of the study and the first trial
            raise Killed
        replace(source, place)
        if sum(calls) == 3:
            raise Killed

    monkeypatch.setattr(os, "replace", mortal)
    with pytest.raises(Killed):
        sweep("killed", *words)
    monkeypatch.setattr(os, "replace", replace)
    assert sweep("killed", *words)[0] == 0
    assert trials(tmp_path / "killed") == trials(tmp_path / "whole")


def test_what_others_left_beside_the_trials_stops_nothing(sweep, tmp_path):
    """A lock of Optuna's, half a line of an earlier version's; a link in the storage's place is not followed."""
    words = (RATE, "sampler=random")
    sweep("r", *words, "trials=3")
    whole = trials(tmp_path / "r")
    place, precious = tmp_path / "r" / JOURNAL, tmp_path / "precious"
    last = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(b"".join(last[:-1]) + last[-1][:20])
    place.with_name(f"{JOURNAL}.lock").symlink_to(f"r/{JOURNAL}")
    assert sweep("r", *words, "trials=3")[0] == 0
    assert trials(tmp_path / "r") == whole
    precious.write_bytes(place.read_bytes())
    place.unlink()
    place.symlink_to(precious)
    status, text = sweep("r", *words, "trials=4")
    assert status == 2
    assert text.splitlines()[-1].endswith("damaged; delete it, the same command scores the runs again")
    assert precious.read_bytes().count(b"params") == 3


def test_a_trial_that_another_process_scored_meanwhile_counts_once(sweep, tmp_path, monkeypatch):
    words = (RATE, "sampler=random", "trials=2")
    score, calls = sampling._score, []

    def slow(plan):
        if not calls:
            calls.append(1)
            assert sweep("r", *words)[0] == 0
        return score(plan)

    monkeypatch.setattr(sampling, "_score", slow)
    assert sweep("r", *words)[0] == 0
    assert len(trials(tmp_path / "r")) == 2


def test_the_seed_of_the_sampler_decides_which_trials_there_are(sweep, tmp_path):
    for seed in (0, 1):
        assert sweep(str(seed), RATE, "sampler=random", "trials=2", f"sampler_seed={seed}")[0] == 0
    assert len(rates(tmp_path / "0")) == len(rates(tmp_path / "1")) == 2
    assert rates(tmp_path / "0").isdisjoint(rates(tmp_path / "1"))


def test_a_score_is_the_mean_over_seeds_and_every_arm_has_its_own_study(sweep, tmp_path, cli):
    status, text = sweep(
        "r", RATE, "norm=none,batch", "model.normalize_output=true", "seed=0,1", "sampler=tpe", "trials=2"
    )
    assert status == 0, text
    scored, runs = trials(tmp_path / "r"), find_runs([tmp_path / "r"])
    assert len(scored) == 4
    assert len(runs) == 8
    means: dict[tuple[str, float], list[float]] = {}
    for run in runs:
        means.setdefault((run.config["norm"]["_target_"], run.config["optim"]["lr"]), []).append(last_score(run))
    assert any(first != second for first, second in means.values())
    assert sorted(trial["score"] for trial in scored) == pytest.approx(sorted(sum(own) / 2 for own in means.values()))
    status, table, _ = cli("best", str(tmp_path / "r"))
    assert status == 0
    assert "optim.lr" in table


def last_score(run: RunDirectory) -> float:
    return float(run.rows("metrics.csv")[-1]["validation/accuracy"])


def test_a_trial_that_diverges_is_worse_than_any_and_is_no_failure(sweep, tmp_path):
    words = ("optim.lr=interval(1e30,1e38)", "optim.momentum=0", "sampler=tpe", "trials=2")
    status, text = sweep("wild", *words)
    assert status == 0
    assert "diverged" in text
    assert [trial["score"] for trial in trials(tmp_path / "wild")] == [None, None]


@contextmanager
def failing(*which: int) -> Iterator[None]:
    """Let some of the runs of norm=batch fail, counted from 1 as they are trained."""
    request, calls = InProcess.request, count(1)

    def failed(worker: InProcess, message: dict, *rest: object) -> dict:
        if message["verb"] == "train" and "norm=batch" in message["overrides"] and next(calls) in which:
            return {"status": "failed", "cause": "no memory"}
        return request(worker, message, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "request", failed)
        yield


def states(folder: Path) -> dict[str, list[str]]:
    """Return how the trials of each arm stand in Optuna's storage, in the order in which they were told."""
    storage = JournalStorage(Journal(folder / JOURNAL))
    return {
        "batch" if "norm=batch" in study.study_name else "none": [
            trial.state.name for trial in storage.get_all_trials(study._study_id)
        ]
        for study in storage.get_all_studies()
    }


def scored(folder: Path) -> list[tuple[float, float]]:
    return sorted((trial["optim.lr"], trial["score"]) for trial in trials(folder) if trial["score"] is not None)


ARMS = (RATE, "norm=none,batch", "model.normalize_output=true")


def test_a_run_that_fails_costs_its_trial_alone_and_is_tried_again(sweep, tmp_path):
    words = (*ARMS, "seed=0,1", "sampler=random", "trials=3")
    sweep("whole", *words)
    with failing(4):  # the second seed of the second trial
        status, text = sweep("r", *words)
    assert status == 1
    named = re.search(
        r"1 of 6 trials failed; the same command .*:\nnormexp: failed: trial 2, (norm=batch optim.lr=\S+)\n", text
    )
    assert named
    assert f"[4/4] failed {named[1]} seed=1\n" in text
    assert re.search(r"failed: \S+: no memory\n", text)
    assert states(tmp_path / "r") == {"none": ["COMPLETE"] * 3, "batch": ["COMPLETE", "FAIL", "COMPLETE"]}
    status, text = sweep("r", *words)
    assert status == 0, text
    assert "4 runs: 3 finished, 0 new, 1 to resume" in text
    assert states(tmp_path / "r")["batch"] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert rates(tmp_path / "r") == rates(tmp_path / "whole")
    assert scored(tmp_path / "r") == scored(tmp_path / "whole")
    before = (tmp_path / "r" / JOURNAL).read_bytes()
    assert sweep("r", *words)[0] == 0
    assert (tmp_path / "r" / JOURNAL).read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("which", [(1,), (1, 2, 5)])
def test_a_search_with_a_trial_that_always_fails_goes_on_alike_where_it_was_stopped(
    sweep, tmp_path, monkeypatch, which
):
    """Also where it is the first: nobody knows yet what the scores of its study are."""
    words = (RATE, "norm=batch", "model.normalize_output=true", "sampler=tpe", f"trials={TRIALS}")
    with failing(*which):
        assert sweep("whole", *words)[0] == 1
    train, calls = sweeping.run_plan, []

    def mortal(*arguments: object) -> int:
        calls.append(1)
        status = train(*arguments)
        if len(calls) == 6:  # trained, and not yet told
            raise Killed
        return status

    monkeypatch.setattr(sweeping, "run_plan", mortal)
    with failing(*which), pytest.raises(Killed):
        sweep("stopped", *words)
    monkeypatch.setattr(sweeping, "run_plan", train)
    with failing(*range(1, 1 + len(which))):  # what had failed is all that is trained before the seventh
        assert sweep("stopped", *words)[0] == 1
    assert scored(tmp_path / "stopped") == scored(tmp_path / "whole")
    assert sweep("stopped", *words)[0] == sweep("stopped", *words, "trials=14")[0] == 0


def test_whole_numbers_stay_whole(sweep, tmp_path):
    assert sweep("w", "batch_size=int(interval(10,40))", "sampler=random", "trials=3")[0] == 0
    assert all(isinstance(run.config["batch_size"], int) for run in find_runs([tmp_path / "w"]))


REFUSED = {
    "sampler": ((RATE, "sampler=tpo"), "tpo"),
    "trials": ((RATE, "sampler=tpe", "trials=0"), "trials=0: must be an integer in [1, inf)"),
    "trials alone": (("trials=3",), "trials=3: is of a search; give sampler=tpe or sampler=random with it"),
    "no interval": (("sampler=tpe",), "sampler=tpe: no key has an interval; for example"),
    "empty": (("optim.lr=tag(log,interval(0,1))", "sampler=tpe"), "optim.lr=tag(log,interval(0,1)): "),
    "not allowed": (("optim.lr=interval(-1,1)", "sampler=tpe"), "optim.lr=-1"),
    "a group": (
        ("norm=interval(0,1)", "sampler=tpe"),
        "norm=interval(0,1): norm has options, an interval is of numbers",
    ),
    "no validation": ((RATE, "dataset.validation=0", "sampler=tpe"), "has no validation split"),
    "elsewhere": ((RATE, "sampler=tpe", "shard=1/2"), "sampler=tpe: trains on this machine"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_searched_is_one_line(sweep, tmp_path, words, said):
    status, text = sweep("refused", *words)
    assert (status, len(text.splitlines())) == (2, 1), text
    assert said in text
    assert not (tmp_path / "refused").exists()


def test_a_missing_library_is_one_line(sweep, monkeypatch):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: None)
    status, text = sweep("missing", RATE, "sampler=tpe")
    assert status == 2
    assert text == "normexp: sampler=tpe: optuna is not installed; pip install 'normexp[optuna]'\n"


def test_a_damaged_storage_is_one_line(sweep, tmp_path):
    sweep("d", RATE, "sampler=random", "trials=1")
    (tmp_path / "d" / JOURNAL).write_text('{"op_code": 0}\n')
    status, text = sweep("d", RATE, "sampler=random", "trials=2")
    assert status == 2
    assert text.splitlines()[-1].endswith("damaged; delete it, the same command scores the runs again")


def test_watch_sees_at_which_trial_a_search_is(sweep, tmp_path, monkeypatch):
    seen, score = [], sampling._score

    def looked(plan):
        (view,) = views_of(tmp_path / "r")
        seen.append((view.title.rpartition(", ")[2], dict(view.snapshot().counts), view.is_ended()))
        if len(seen) == 3:
            assert {view.name(str(run.path)).partition("=")[0] for run in view.runs()} == {"optim.lr"}
        return score(plan)

    monkeypatch.setattr(sampling, "_score", looked)
    assert sweep("r", RATE, "sampler=random", "trials=3")[0] == 0
    assert seen == [
        ("trial 1 of 3", {"done": 1, "free": 2}, False),  # between two trials
        ("trial 2 of 3", {"done": 2, "free": 1}, False),
        ("trial 3 of 3", {"done": 3, "free": 0}, True),
    ]
    (view,) = views_of(tmp_path / "r")
    assert not view.snapshot().abandoned


def test_watch_says_that_nobody_goes_on_with_a_search_that_was_killed(sweep, tmp_path, monkeypatch):
    def killed(plan):
        raise Killed

    monkeypatch.setattr(sampling, "_score", killed)
    with pytest.raises(Killed):
        sweep("r", RATE, "sampler=random", "trials=3")
    (view,) = views_of(tmp_path / "r")
    assert view.snapshot().abandoned
    assert view.is_ended()
