"""Which kernels the arithmetic libraries choose on this processor, in their own words."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F

OUT = 1  # the descriptor to which the libraries, written in C, tell what they do
TALKING = ("MKL_VERBOSE", "ONEDNN_VERBOSE", "DNNL_VERBOSE")  # set by the user, who wants to read it


@cache
def kernels_in_use() -> dict[str, str]:
    """Return {library: what it says of its kernels} after a small convolution and a small matrix product.

    Of MKL the processor that it takes this one for, of oneDNN the implementation. Flags of the processor do not tell
    this: MKL has kernels of its own for processors of other makers. Empty where a library has nothing to say.

    Most of its time, 0.02 to 0.2 s of the processor and once per process, MKL measures the clock rate for its line.
    """
    if os.name != "posix" or sys.stdout is None or any(name in os.environ for name in TALKING):
        return {}
    try:
        said = _said(_small_work)
    except (OSError, RuntimeError, AssertionError):  # nowhere to print; a torch without these libraries
        return {}
    found = {
        "mkl": re.search(r"^MKL_VERBOSE oneMKL .* for Intel\(R\) 64 architecture (.+?), \w+ [\d.]+GHz", said, re.M),
        "onednn": re.search(r"^onednn_verbose.*,exec,cpu,convolution,([^,]+)", said, re.M),
    }
    return {library: match[1] for library, match in found.items() if match}


def _small_work() -> None:
    with torch.no_grad(), torch.backends.mkldnn.verbose(1), torch.backends.mkl.verbose(1):
        F.conv2d(torch.ones(2, 3, 8, 8), torch.ones(8, 3, 3, 3))
        torch.mm(torch.ones(64, 64), torch.ones(64, 64))


def _said(work: Callable[[], None]) -> str:
    """Return what the libraries print meanwhile; what anybody else prints still goes where it should."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    flush(None)
    with tempfile.TemporaryFile() as file:
        saved = os.dup(OUT)
        os.dup2(file.fileno(), OUT)
        try:
            work()
            flush(None)
        finally:
            os.dup2(saved, OUT)
            os.close(saved)
        file.seek(0)
        lines = file.read().decode(errors="replace").splitlines(keepends=True)
    ours = [line for line in lines if line.startswith(("onednn_verbose", "MKL_VERBOSE"))]
    os.write(OUT, "".join(line for line in lines if line not in ours).encode())
    return "".join(ours)
