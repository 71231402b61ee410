"""Which processor and which arithmetic libraries computed a run: so that "the same machine" can be checked."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any

import torch

from normexp.training.bfloat16 import has_bfloat16_kernels
from normexp.training.machine.kernels import kernels_in_use

_CPUINFO = Path("/proc/cpuinfo")
_NUMBERS = {"family": "cpu family", "model": "model", "stepping": "stepping"}


def processor_name() -> str:
    """Return what the processor calls itself; a virtual machine may hide it."""
    return _cpuinfo().get("model name") or platform.processor()


@cache
def describe_processor() -> dict[str, Any]:
    """Return vendor, family, model, stepping and instruction sets; only the name where the system has no cpuinfo.

    The hash of the sorted flags stands for them where two records are compared.
    """
    info = _cpuinfo()
    flags = sorted(info.get("flags", info.get("Features", "")).split())
    numbers = {name: int(info[key]) for name, key in _NUMBERS.items() if info.get(key, "").isdecimal()}
    return {
        "name": processor_name(),
        "vendor": info.get("vendor_id", ""),
        **numbers,
        "flags_sha256": hashlib.sha256(" ".join(flags).encode()).hexdigest(),
        "flags": " ".join(flags),
    }


@cache
def describe_arithmetic() -> dict[str, Any]:
    """Return which BLAS and oneDNN torch was built with, and which kernels all three chose on this processor."""
    text = torch.__config__.show()
    onednn = re.search(r"(?:MKL-DNN|oneDNN) (v[\d.]+)", text)
    return {
        "blas": _setting(text, "BLAS_INFO"),
        "lapack": _setting(text, "LAPACK_INFO"),
        "onednn": onednn[1] if onednn else "",
        "onednn_used": bool(torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled),
        "mkl": bool(torch.backends.mkl.is_available()),
        "instructions": torch.backends.cpu.get_cpu_capability(),  # of torch's own kernels
        "bfloat16": "kernels" if has_bfloat16_kernels(torch.device("cpu")) else "rounded, in float32",
        "kernels": kernels_in_use(),
    }


def load_average() -> list[float]:
    """Return the mean number of running processes over the last 1, 5 and 15 minutes; empty where unknown."""
    try:
        return [round(each, 2) for each in os.getloadavg()]
    except (AttributeError, OSError):  # Windows has none
        return []


@cache
def _cpuinfo() -> dict[str, str]:
    """Return the first processor's entries of /proc/cpuinfo."""
    if not _CPUINFO.exists():
        return {}
    lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _setting(text: str, name: str) -> str:
    found = re.search(rf"\b{name}=([^,\s]+)", text)
    return found[1] if found else ""
