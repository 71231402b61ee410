"""The worker protocol under random interleavings, kills and pauses at every operation; and broken, where that shows."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from normexp.sweeps import protocol
from normexp.sweeps.protocol import (
    CellState,
    Claim,
    Observer,
    beat_name,
    cell_states,
    holder,
    is_valid,
    perform,
    reopen,
    take,
)

CELLS = 2
WRITES = 4  # of a run's records, while it is trained
TAKEOVER = 5.0  # seconds; whoever lives shows a change every second


@dataclass(frozen=True)
class Names:
    """Answers the names in the folder."""


@dataclass(frozen=True)
class Write:
    """One write of a record of a run."""


class Folder:
    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def create(self, name: str, content: str) -> bool:
        if name in self.files:
            return False
        self.files[name] = content
        return True

    def replace(self, name: str, content: str) -> None:
        self.files[name] = content

    def read(self, name: str) -> str | None:
        return self.files.get(name)


class Member:
    """A worker: its operations one by one, its own clock, and what it holds."""

    def __init__(self, name: str, offset: float) -> None:
        self.name, self.offset = name, offset
        self.observer, self.attempts, self.beats, self.now = Observer(TAKEOVER), 0, 0, 0.0
        self.claim: Claim | None = None
        self.paused, self.strays, self.is_last = False, 0, False
        self.steps: Iterator[Any] = self.life()
        self.operation: Any = next(self.steps)

    def advance(self, answer: object) -> None:
        self.operation = self.steps.send(answer)  # type: ignore[attr-defined]

    def life(self) -> Iterator[Any]:
        while True:
            for cell in range(CELLS):
                state = cell_states((yield Names())).get(cell, CellState())
                if (state.is_free or (state.is_held and (yield from self.is_left(cell, state)))) and (
                    claim := (yield from self.taken(cell, state))
                ):
                    self.claim, self.strays = claim, 0
                    yield from self.train(claim)
                    self.claim = None

    def is_left(self, cell: int, state: CellState) -> Iterator[Any]:
        of = yield from holder(cell, state)
        return of is not None and self.observer.is_dead(*of, self.now + self.offset)

    def taken(self, cell: int, state: CellState) -> Iterator[Any]:
        self.attempts += 1
        return (yield from take(cell, state, self.name, self.attempts))

    def train(self, claim: Claim) -> Iterator[Any]:
        for _ in range(WRITES):
            if not (yield from is_valid(claim)):
                return
            yield Write()
        if self.is_last:
            yield from protocol.end(claim, "done")
        else:  # it stops and leaves the rest to others, so that there is always something to claim
            yield from reopen(claim.cell, claim.generation)


class Sweep(RuleBasedStateMachine):
    """Workers that are stepped one operation at a time, in any order, and that die at any operation."""

    pauses = False
    folder_class: type[Folder] = Folder

    def __init__(self) -> None:
        super().__init__()
        self.folder = self.folder_class()
        self.members: list[Member] = []
        self.written: dict[int, int] = {}  # cell -> generation of the latest write
        self.now = 0.0

    @initialize(offsets=st.lists(st.sampled_from([0.0, -1e6, 1e6]), min_size=2, max_size=4))
    def begin(self, offsets: list[float]) -> None:
        for offset in offsets:
            self.join(offset)

    def join(self, offset: float) -> Member:
        self.members.append(Member(f"w{self.now:g}-{len(self.members)}-{len(self.folder.files)}", offset))
        return self.members[-1]

    @rule(choice=st.integers(0, 3), count=st.integers(1, 12))
    def step(self, choice: int, count: int) -> None:
        """Do some operations of one worker."""
        for _ in range(count):
            if self.members and not (member := self.members[choice % len(self.members)]).paused:
                self.operate(member)

    @rule(seconds=st.integers(1, 8))
    def wait(self, seconds: int) -> None:
        """Let time pass; whoever lives shows it every second, and looks around as often."""
        for _ in range(seconds):
            self.now += 1.0
            for member in self.members:
                if not member.paused:
                    member.beats, member.now = member.beats + 1, self.now
                    self.folder.replace(beat_name(member.name), str(member.beats))

    @rule(choice=st.integers(0, 3))
    def kill(self, choice: int) -> None:
        if len(self.members) > 1:
            self.members.pop(choice % len(self.members))

    @rule()
    def replace_the_dead(self) -> None:
        if len(self.members) < 4:
            self.join(0.0)

    @precondition(lambda self: self.pauses)
    @rule(choice=st.integers(0, 3), counts=st.lists(st.integers(0, 40), min_size=2, max_size=2))
    def pause(self, choice: int, counts: list[int]) -> None:
        """Let one worker stand still, wherever it is, while the others look twice, a takeover apart, and go on."""
        member = self.members[choice % len(self.members)]
        member.paused = True
        for count in counts:
            for other in range(len(self.members)):
                self.step(other, count)
            self.wait(int(TAKEOVER) + 1)

    @precondition(lambda self: self.pauses)
    @rule()
    def wake(self) -> None:
        for member in self.members:
            member.paused, member.now = False, self.now

    def operate(self, member: Member) -> None:
        operation, answer = member.operation, None
        if isinstance(operation, Names):
            answer = list(self.folder.files)
        elif isinstance(operation, Write):
            self.check_write(member)
        else:
            answer = perform(operation, self.folder)
        member.advance(answer)
        self.check_alone(member)

    def check_write(self, member: Member) -> None:
        """A write after a later holder's is one at most: of a worker that looked, and was then overtaken."""
        assert member.claim is not None
        newest = self.written.get(member.claim.cell, 0)
        if member.claim.generation < newest:
            member.strays += 1
            assert member.strays == 1, "wrote more than once after the cell was taken over"
        self.written[member.claim.cell] = max(newest, member.claim.generation)

    def check_alone(self, member: Member) -> None:
        """Without pauses two workers never train one cell."""
        if self.pauses or member.claim is None:
            return
        holders = [each.name for each in self.members if each.claim and each.claim.cell == member.claim.cell]
        assert len(holders) == 1, f"{holders} train cell {member.claim.cell}"

    def teardown(self) -> None:
        """Whatever has happened, one new worker ends every cell, and waits no longer than it has to."""
        self.members = []
        last = self.join(0.0)
        last.is_last = True
        began = self.now
        while not all(cell_states(self.folder.files).get(cell, CellState()).end for cell in range(CELLS)):
            assert self.now - began <= TAKEOVER + 2, "a dead worker's cell was not taken over in time"
            self.wait(1)
            self.look_around(last)

    def look_around(self, member: Member) -> None:
        """Let a worker look at every cell once, and train what it gets."""
        looks = 0
        while looks <= CELLS:
            looks += isinstance(member.operation, Names)
            self.operate(member)


class SweepWithPauses(Sweep):
    pauses = True


EXAMPLES = {"deadline": None, "database": None, "derandomize": True}
TIMES = settings(max_examples=70, stateful_step_count=30, suppress_health_check=list(HealthCheck), **EXAMPLES)
FIRST = settings(TIMES, max_examples=800, phases=[Phase.generate])  # a broken rule is found, not made small


@pytest.mark.parametrize("machine", [Sweep, SweepWithPauses])
def test_protocol_keeps_its_promises(machine):
    run_state_machine_as_test(machine, settings=TIMES)


class NotExclusive(Folder):
    def create(self, name: str, content: str) -> bool:
        self.files[name] = content
        return True


def nothing(*_: object) -> Iterator[Any]:
    return
    yield


def always(*_: object) -> Iterator[Any]:
    return True
    yield


BROKEN = {
    "a claim is made where one exists": (Sweep, "folder_class", NotExclusive, "train cell"),
    "the living count as dead": (Observer, "is_dead", lambda *_: True, "train cell"),
    "the dead count as alive": (Observer, "is_dead", lambda *_: False, "not taken over in time"),
    "nobody writes TAKEN": (protocol, "_fence_off", nothing, "wrote"),
    "nobody asks whether the claim is valid": (__name__, "is_valid", always, "wrote"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_protocol_with_a_broken_rule_is_found_out(monkeypatch, rule):
    """What the tests above could not find they would not exclude."""
    place, name, replacement, message = BROKEN[rule]
    monkeypatch.setattr(sys.modules[place] if isinstance(place, str) else place, name, replacement)
    machine = SweepWithPauses if message == "wrote" else Sweep
    with pytest.raises(AssertionError, match=message):
        run_state_machine_as_test(machine, settings=FIRST)


def test_newest_claim_and_its_marks_say_what_a_cell_is():
    states = cell_states(["7.1", "7.1.open", "7.2", "8.1", "8.1.failed", "9.1", "9.1.done", "w1.json", "8.1.x"])
    assert (states[7].is_held, states[7].generation) == (True, 2)
    assert states[8].end == "failed"
    assert states[9].end == "done"
    assert cell_states(["8.1", "8.1.failed", "8.1.open"])[8].is_free
    assert CellState().is_free


def test_observer_goes_by_changes_that_it_saw_itself():
    observer = Observer(takeover=10)
    assert not observer.is_dead("w", "1", now=1e9)  # the first look proves nothing
    assert not observer.is_dead("w", "1", now=1e9 + 9)
    assert observer.is_dead("w", "1", now=1e9 + 10)
    assert not observer.is_dead("w", "2", now=1e9 + 50)
    assert not observer.is_dead("w", None, now=1e9 + 51)
    assert observer.is_dead("w", None, now=1e9 + 61)
