"""Device, threads, and what the record says of them."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import normexp
from normexp.errors import UserError
from normexp.training.commit import commit
from normexp.training.machine import hardware, kernels, processor
from normexp.training.machine.hardware import choose_device, choose_threads, describe, peak_memory

CPU = torch.device("cpu")


def pretend(monkeypatch: pytest.MonkeyPatch, cuda: bool = False, mps: bool = False) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("there", "chosen"),
    [({}, "cpu"), ({"mps": True}, "mps"), ({"cuda": True}, "cuda"), ({"cuda": True, "mps": True}, "cuda")],
)
def test_hardware_auto_takes_the_fastest_device(monkeypatch, there, chosen):
    pretend(monkeypatch, **there)
    assert choose_device("auto").type == chosen


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_hardware_missing_device_is_named_with_those_that_are_there(monkeypatch, name):
    pretend(monkeypatch)
    with pytest.raises(UserError, match=f"device={name}: not available on this machine; available: auto, cpu"):
        choose_device(name)


def test_hardware_threads_are_those_asked_for():
    assert choose_threads(3, nn.Linear(2, 2), 1) == 3


def test_hardware_small_work_gets_one_thread_and_large_work_all_cores(monkeypatch):
    monkeypatch.setattr(hardware, "_cores", lambda: 8)
    small, large, convolution = nn.Linear(64, 10), nn.Linear(2000, 2000), nn.Conv2d(1, 8, 3)
    assert [choose_threads(None, net, 64) for net in (small, large, convolution)] == [1, 8, 8]


def test_hardware_cores_are_at_least_one():
    assert hardware._cores() >= 1


def test_hardware_description_is_plain_json():
    facts = describe(CPU, threads=2)
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["device"], facts["threads"], facts["packages"]["torch"].partition("+")[0]) == (
        "cpu",
        2,
        torch.__version__.partition("+")[0],
    )


def test_hardware_tells_processors_apart_that_have_one_name(monkeypatch, tmp_path):
    found, plain = [], processor._cpuinfo.__wrapped__
    for model, flags in (("85", "avx2 sse"), ("106", "avx2 sse avx512f")):
        name = "model name\t: Intel(R) Xeon(R) Processor\nvendor_id\t: GenuineIntel\n"
        numbers = f"cpu family\t: 6\nmodel\t: {model}\nstepping\t: 7\nflags\t\t: {flags}\n"
        (tmp_path / "cpuinfo").write_text(f"{name}{numbers}\nmodel name\t: another\n")
        monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "cpuinfo")
        monkeypatch.setattr(processor, "_cpuinfo", plain)
        found.append(processor.describe_processor.__wrapped__())
    first, second = found
    assert first["name"] == second["name"] == "Intel(R) Xeon(R) Processor"
    assert (first["family"], first["model"], first["stepping"], first["flags"]) == (6, 85, 7, "avx2 sse")
    assert first["model"] != second["model"]
    assert first["flags_sha256"] != second["flags_sha256"]


def test_hardware_says_which_arithmetic_torch_uses():
    facts = describe(CPU, threads=1)["arithmetic"]
    assert facts["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert facts["blas"]
    assert facts["kernels"] == kernels.kernels_in_use()
    assert len(describe(CPU, threads=1)["load"]) in (0, 3)


def test_hardware_quotes_the_libraries_on_their_kernels_and_prints_the_rest(capfd):
    said = kernels._said(lambda: os.write(1, b"onednn_verbose,a\nmine\nMKL_VERBOSE b\n"))
    assert said.splitlines() == ["onednn_verbose,a", "MKL_VERBOSE b"]
    os.write(1, b"behind\n")
    assert capfd.readouterr().out.split() == ["mine", "behind"]


WORDS = """onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32
onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_training,src:f32
MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture A processor, Lnx 2.60GHz lp64
MKL_VERBOSE SGEMM(N,N,36,16,144)
"""


def test_hardware_tells_the_kernels_of_both_libraries(monkeypatch):
    monkeypatch.setattr(kernels, "_said", lambda work: WORDS)
    assert kernels.kernels_in_use.__wrapped__() == {"mkl": "A processor", "onednn": "jit:avx512_core"}
    monkeypatch.setenv("MKL_VERBOSE", "1")
    assert kernels.kernels_in_use.__wrapped__() == {}


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")
def test_hardware_kernels_are_in_the_record(capfd):
    environment = kernels.kernels_in_use.__wrapped__()
    assert set(environment) <= {"mkl", "onednn"}
    assert environment["onednn"]
    assert capfd.readouterr().out == ""


def test_hardware_commit_is_that_of_the_checkout():
    root = Path(normexp.__file__).parent.parent
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    if head.returncode:
        pytest.skip("not a checkout")
    assert commit.__wrapped__().rstrip("+") == head.stdout.strip()


def test_hardware_commit_is_unknown_outside_a_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr(normexp, "__file__", str(tmp_path / "normexp" / "__init__.py"))
    assert commit.__wrapped__() is None


def test_hardware_commit_is_unknown_without_git(monkeypatch, tmp_path):
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(normexp, "__file__", str(tmp_path / "normexp" / "__init__.py"))
    monkeypatch.setenv("PATH", "")
    assert commit.__wrapped__() is None


def test_hardware_commit_is_unknown_where_git_cannot_tell_what_differs(monkeypatch, tmp_path):
    """The first of its two answers is there, and passed for a checkout without changes."""
    whose = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for words in (["init", "-q"], [*whose, "commit", "-q", "--allow-empty", "-m", "empty"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(normexp, "__file__", str(tmp_path / "normexp" / "__init__.py"))
    assert len(commit.__wrapped__()) == 40
    (tmp_path / ".git" / "index").write_bytes(b"damaged")
    assert commit.__wrapped__() is None


def test_hardware_peak_memory_is_in_bytes():
    assert 10 * 2**20 < peak_memory(CPU) < 2**40
