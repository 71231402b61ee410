"""How threads wait: briefly, unless somebody has said otherwise or torch is there already."""

import os
import sys

import pytest

from normexp.training.cores import BRIEFLY, WAITING, wait_briefly

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


def test_a_process_that_has_torch_is_left_alone(monkeypatch):
    for name in (*WAITING, "NORMEXP_PROCESS_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", sys)
    wait_briefly()
    assert "GOMP_SPINCOUNT" not in os.environ
