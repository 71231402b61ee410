"""How many cores there are; how threads wait: briefly, unless somebody said otherwise or torch is there already."""

import os
import sys

import pytest
from one_line import one_line_error

from normexp.training.machine.cores import BRIEFLY, WAITING, physical_cores, wait_briefly

SAID = {"nothing": ({}, BRIEFLY), "policy": ({"OMP_WAIT_POLICY": "active"}, None),
        "spins": ({"GOMP_SPINCOUNT": "7"}, "7"), "off": ({"NORMEXP_PROCESS_SETTINGS": "0"}, None)}  # fmt: skip


@pytest.mark.parametrize(("said", "spins"), SAID.values(), ids=SAID)
def test_threads_wait_briefly_unless_somebody_said_otherwise(monkeypatch, said, spins):
    for name in (*WAITING, "NORMEXP_PROCESS_SETTINGS"):
        monkeypatch.setenv(name, "")  # remembered, and put back at the end
        monkeypatch.delenv(name)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    wait_briefly()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


@pytest.mark.parametrize("value", ["all", "", "2.5"])
def test_a_number_of_cores_that_is_none_is_one_line(monkeypatch, value):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", value)
    with one_line_error(rf"^LOKY_MAX_CPU_COUNT={value}: must be a whole number, or not set$"):
        physical_cores()


def test_a_process_that_has_torch_is_left_alone(monkeypatch):
    for name in (*WAITING, "NORMEXP_PROCESS_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", sys)
    wait_briefly()
    assert "GOMP_SPINCOUNT" not in os.environ
