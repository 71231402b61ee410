"""Finding run directories: what is said while a large folder is walked."""

from normexp.records import waiting
from normexp.records.find import runs_below


def test_a_large_folder_is_walked_with_a_word(tmp_path, caplog, monkeypatch):
    for name in "abc":
        (tmp_path / name / "d").mkdir(parents=True)
    with caplog.at_level("INFO", "normexp"):
        assert list(runs_below(tmp_path)) == []
        assert caplog.messages == []
        monkeypatch.setattr(waiting, "FIRST", 0.0)
        assert list(runs_below(tmp_path)) == []
    told = f"looking for runs in {tmp_path}, folders so far: 1; name the one of your runs"
    assert caplog.messages == [told]
