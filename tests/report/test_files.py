"""What a report leaves behind where a file of it cannot be written."""

import errno
from pathlib import Path

import pytest

from normexp.errors import UserError
from normexp.report import files


def test_a_file_without_room_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_atomically", full)
    with pytest.raises(UserError, match=r"curves.png: cannot be written \(No space left on device\)"):
        files.write(tmp_path / "new" / "newer" / "curves.png", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    assert files.write(tmp_path / "new" / "curves.svg", "<svg/>").read_text() == "<svg/>"
    (tmp_path / "was").mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        files.write(tmp_path / "was", "")
    assert (tmp_path / "was").is_dir()


def test_a_folder_whose_name_is_too_long_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name too long"):
        files.write(tmp_path / ("a" * 300) / "curves.svg", "<svg/>")
    assert list(tmp_path.iterdir()) == []
