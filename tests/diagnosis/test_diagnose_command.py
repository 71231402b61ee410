"""`normexp diagnose` and its mistakes."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from networks_to_diagnose import kinds, small

from normexp.diagnosis import repair
from normexp.diagnosis.diagnose import diagnose
from normexp.diagnosis.settings import broken_range
from normexp.records import waiting

NETS = """
import torch
from torch import nn

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(288, 2))

built = net()

def batch():
    return 2 + torch.randn(32, 3, 8, 8, generator=torch.Generator().manual_seed(0))

def both():
    return net(), batch()

def number():
    return 3

def views():
    model, whole = net(), torch.randn(3, 288)
    model[3].weight, model.other = nn.Parameter(whole[:2]), nn.Parameter(whole[1:])
    return model, batch()

def tied():
    model = net().extend([nn.Linear(2, 2), nn.Linear(2, 2)])
    model[5].weight = model[4].weight
    return model, batch()

def fails():
    raise KeyError("x")

def leaves():
    raise SystemExit(3)

async def waits():
    return batch()

def of_another():
    return waits()

def loud():
    print("made")
    return net(), batch()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "some_nets.py").write_text(NETS)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "nets.py").write_text("/")  # is not read
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "text.safetensors").symlink_to("text.npy")  # not even a link is replaced
    head = repr({"descr": "<f4", "fortran_order": False, "shape": (10**14,)}).ljust(117) + "\n"
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
    os.mkfifo(tmp_path / "pipe.npy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_command_names_a_fault_and_repairs_it(folder, cli):
    status, stdout, stderr = cli("diagnose", "some_nets:net", "some_nets:batch")
    assert (status, stderr) == (1, "")
    assert stdout.startswith("fault: never updated: 1: ")
    status, stdout, stderr = cli("diagnose", "some_nets:both", "--fix", "recalibrate", "--out", "w.safetensors")
    assert (status, stderr) == (0, "")
    assert (folder / "w.safetensors").stat().st_mode & 0o777 == (folder / "some_nets.py").stat().st_mode & 0o777
    sys.path.append(str(folder))
    from safetensors.torch import load_model
    from some_nets import batch, net

    model = net()
    load_model(model, "w.safetensors")
    assert kinds(model, batch()) == set()


@pytest.mark.parametrize(("name", "one", "other"), [("views", "other", "3.weight"), ("tied", "4.weight", "5.weight")])
def test_a_repaired_network_whose_weights_share_memory_is_written_by_every_name(folder, cli, name, one, other):
    """As its checkpoint has it: torch's own load_state_dict takes it, with no name missing."""
    assert cli("diagnose", f"some_nets:{name}", "--fix", "recalibrate", "--out", "w.safetensors")[0] == 0
    sys.path.append(str(folder))
    import some_nets
    from safetensors.torch import load_file

    model, data = getattr(some_nets, name)()
    model.load_state_dict(load_file("w.safetensors"))
    places = {model.get_parameter(each).untyped_storage().data_ptr() for each in (one, other)}
    assert len(places) == 1
    assert kinds(model, data) == set()


def test_an_array_in_the_byte_order_of_another_machine_is_read(folder, cli):
    batch = 2 + np.random.default_rng(0).normal(size=(32, 3, 8, 8)).astype(np.float32)
    for name, order in (("here.npy", "="), ("there.npy", "<>"[sys.byteorder == "little"])):
        np.save(name, batch.astype(batch.dtype.newbyteorder(order)))
    answers = [cli("diagnose", "some_nets:net", name, "--json")[1] for name in ("here.npy", "there.npy")]
    found = [json.loads(answer)["findings"] for answer in answers]
    assert found[0] == found[1] != []


def test_what_a_network_prints_is_no_part_of_the_answer(folder, cli):
    _, stdout, stderr = cli("diagnose", "some_nets:loud", "--json")
    assert json.loads(stdout)
    assert stderr.startswith("made\n")


def test_the_command_prints_json(folder, cli):
    status, stdout, _ = cli("diagnose", "some_nets:both", "--json", "--lr", "0.1")
    document = json.loads(stdout)
    assert status == 1
    assert set(document) == {"findings", "layers", "weights", "summary"}
    assert document["findings"][0]["layer"] == "1"


MISTAKES = {
    "no such function": (["some_nets:nosuch"], "cannot be imported"),
    "a network that is built": (["some_nets:built", "some_nets:batch"], "some_nets:built: is a network that is built"),
    "no data": (["some_nets:net"], "returns no data"),
    "no file": (["some_nets:net", "images.npy"], "images.npy: no such file"),
    "a pipe": (["some_nets:net", "pipe.npy"], "pipe.npy: is no regular file"),
    "no array": (["some_nets:net", "text.npy"], "it does not begin as a .npy file does"),
    "more than there is memory for": (["some_nets:net", "huge.npy"], "huge.npy: cannot be read as an array"),
    "a name of two lines": (["some_nets\n:net"], "is not MODULE:FUNCTION"),
    "a path to here": (["./some_nets.py"], "did you mean some_nets:FUNCTION?"),
    "a path elsewhere": (
        ["deep/../deep/nets.py:net"],
        "go to the folder of deep/../deep/nets.py, and give nets:FUNCTION",
    ),
    "a function that fails": (
        ["some_nets:fails"],
        "some_nets:fails: failed (KeyError: 'x', some_nets.py:31, in fails); --debug shows",
    ),
    "a function that leaves": (
        ["some_nets:leaves"],
        "some_nets:leaves: failed (SystemExit: 3, some_nets.py:34, in leaves)",
    ),
    "an async function": (["some_nets:net", "some_nets:waits"], "some_nets.waits: is an `async def`, which is called"),
    "a coroutine for data": (
        ["some_nets:net", "some_nets:of_another"],
        "data: coroutine, which is never awaited (make",
    ),
    "a coroutine for a network": (
        ["some_nets:of_another", "some_nets:batch"],
        "of_another: returns a coroutine, which is",
    ),
    "weights": (
        ["text.safetensors", "some_nets:batch"],
        "'text.safetensors': is not MODULE:FUNCTION, as in my_nets:resnet; give a function that reads it",
    ),
    "weights as data": (["some_nets:net", "text.safetensors"], "give a function that reads it"),
    "a folder": (["deep", "some_nets:batch"], "of a folder of a run, normexp.load_model(FOLDER) returns the network"),
    "out is there": (["some_nets:both", "--fix", "recalibrate", "--out", "text.safetensors"], "is there already"),
    "out is a folder": (["some_nets:both", "--fix", "recalibrate", "--out", "deep"], "--out deep: is a folder"),
    "momentum": (["some_nets:both", "--momentum", "1"], "must be in [0, 1)"),
}


@pytest.mark.parametrize(("words", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(folder, cli, words, said):
    before = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    status, stdout, stderr = cli("diagnose", *words)
    assert (status, stdout, stderr.count("\n")) == (2, "", 1), stderr
    assert said in stderr
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == before


def test_a_long_look_says_how_far_it_is(caplog, monkeypatch):
    def loader():
        yield from (torch.randn(4, 3, 4, 4) for _ in range(5))

    with caplog.at_level("INFO", "normexp"):
        diagnose(small(), loader())
        assert caplog.messages == []  # of what is over in seconds
        monkeypatch.setattr(waiting, "FIRST", 0.0)
        monkeypatch.setattr(waiting, "EVERY", 0.0)
        diagnose(small(), loader())
        repair.recalibrate(small(), loader())
    said = caplog.messages
    assert [said[0], said[4], said[5]] == [
        "batches read: 1 of 64 at most",
        "batches read: 5 of 64 at most",
        "batch 1 of 5 passes the network",
    ]
    assert "weight 1 of 3 is scaled" in said
    assert "layer 2 of 2 is recalibrated; batches: 5" in said


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("lr", 0, ""),
        ("lr", -1, "must be a number from 0"),
        ("weight_decay", 0, ""),
        ("momentum", 0, ""),
        ("momentum", 1, "must be in [0, 1)"),
    ],
)
def test_the_command_takes_the_settings_that_python_takes(cli, name, value, problem):
    """A rate of 0 was refused by the one and taken by the other."""
    assert broken_range(name, value) == problem
    flag, given = f"--{name.replace('_', '-')}", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, name: value}
    words = [f"--{each.replace('_', '-')}={number}" for each, number in given.items()]
    _, _, stderr = cli("diagnose", "nosuch_nets:net", *words)
    assert stderr.startswith(f"normexp: diagnose: {flag} {value}: {problem}") if problem else flag not in stderr
