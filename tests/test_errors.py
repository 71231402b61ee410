"""What the errors of a user say, and what is quoted of the errors of others."""

import pytest
import torch

from normexp.errors import first_line, kind_and_line, memory_line, nearest, nearest_file


@pytest.mark.parametrize(
    ("error", "line", "with_kind"),
    [
        (ValueError("\n too long\nfor a line\n"), "too long", "ValueError: too long"),
        (
            ValueError("in a:\n\tMissing b.\n\tc"),
            "in a: Missing b.",
            "ValueError: in a: Missing b.",
        ),
        (
            RuntimeError("The following operation failed in the TorchScript interpreter.\nTraceback:\nsizes differ"),
            "sizes differ",
            "RuntimeError: sizes differ",
        ),
        (KeyError(), "KeyError", "KeyError: no message"),
        (RuntimeError("  \n"), "RuntimeError", "RuntimeError: no message"),
    ],
)
def test_an_error_of_others_is_quoted_in_one_line(error, line, with_kind):
    assert (first_line(error), kind_and_line(error)) == (line, with_kind)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            torch.OutOfMemoryError(
                "CUDA out of memory. Tried to allocate 20.86 GiB. GPU 0 has a total capacity of 139"
            ),
            "the memory of the GPU does not suffice (20.86 GiB more were asked for); ",
        ),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
            "the memory of this machine does not",
        ),
        (
            MemoryError(),
            "the memory of this machine does not suffice; a smaller batch_size or network, or fewer jobs, ",
        ),
    ],
)
def test_too_little_memory_is_one_line_that_says_what_needs_less(error, line):
    assert kind_and_line(error).startswith(line)
    assert memory_line(ValueError("no memory of it")) == ""


@pytest.mark.parametrize("words", [["net", "Net"], ["Net", "net"]])
def test_of_words_that_differ_in_case_alone_the_closest_is_proposed(words):
    assert [nearest(name, words) for name in ("nett", "Nett", "NETT")] == ["net", "Net", "Net"]


def test_a_file_whose_name_cannot_be_shown_in_a_line_is_not_proposed(tmp_path):
    (tmp_path / "my\ntable.csv").write_text("")
    assert nearest_file(tmp_path / "my table.csv", ".csv") == ""
