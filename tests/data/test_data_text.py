"""Running text as windows: what they hold, where the splits lie, what is refused, what identity knows."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from one_line import one_line_error

from normexp.config import compose
from normexp.config.identity import PUBLISHED
from normexp.data import text
from normexp.data.text import BYTES, FILE, Text, decode, encode, topics
from normexp.errors import UserError
from normexp.runs.place import with_content

TEXT = "Übung macht den Meister.\n" * 40  # 1,000 characters, 1,040 bytes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_bytes(TEXT.encode())
    return path


def small(file: Path, **options):
    return Text(**{"file": str(file), "context": 10, "validation": 100, "test": 200, **options}).load(0)


def test_targets_are_the_next_characters_and_windows_follow_each_other(file):
    data = small(file)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [69, 9, 19]
    for start, split in ((0, data.train), (700, data.validation), (800, data.test)):
        for row, (x, y) in enumerate(zip(split.x, split.y, strict=True)):
            at = start + 10 * row
            assert decode(data.classes, x) == TEXT[at : at + 10]
            assert decode(data.classes, y) == TEXT[at + 1 : at + 11]


def test_shapes_and_vocabulary(file):
    data = small(file)
    assert (data.task, data.input_shape, data.positions) == ("language", (10,), 10)
    assert data.classes == tuple(sorted(set(TEXT)))
    assert data.num_outputs == len(data.classes)
    assert (data.train.x.dtype, data.train.y.dtype) == (np.float32, np.int64)
    assert data.bytes_per_token == pytest.approx(1.04)


def test_a_byte_order_mark_is_no_part_of_the_text(file):
    plain = small(file)
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert small(file).fingerprint == plain.fingerprint
    assert small(file).bytes_per_token == plain.bytes_per_token


def test_bytes_are_those_of_the_file(file):
    data = small(file, unit="bytes")
    assert data.classes == BYTES
    assert data.bytes_per_token == 1.0
    assert bytes(data.train.x[0].astype(np.uint8)) == TEXT.encode()[:10]
    assert decode(data.classes, data.train.x[:3].ravel()) == TEXT.encode()[:30].decode()


def test_a_file_of_any_kind_can_be_read_as_bytes(tmp_path):
    path = tmp_path / "picture"
    path.write_bytes(bytes(range(256)) * 5)
    assert small(path, unit="bytes").num_outputs == 256


def test_without_validation_there_is_none(file):
    assert len(small(file, validation=0).validation) == 0


def test_subset_keeps_the_first_windows(file):
    whole, part = small(file).train, small(file, subset=7).train
    np.testing.assert_array_equal(part.x, whole.x[:7])


def test_the_default_needs_no_network_and_is_long():
    data = Text().load(0)
    assert len(data.train) * 64 > 200_000
    assert Text().find()
    assert "Python" in data.note


def test_encode_is_the_inverse_of_decode(file):
    classes = small(file).classes
    assert decode(classes, encode(classes, "den Meister")) == "den Meister"
    assert decode(BYTES, encode(BYTES, "Übung")) == "Übung"
    with pytest.raises(UserError, match="'x' does not occur in the text, which has 19 characters"):
        encode(classes, "x")


BAD = {
    "binary": ({"name": "topics"}, b"\xff\xfe\x00", r"is not a text, byte 0 is not UTF-8 \(but UTF-16"),
    "UTF-16": ({}, "hello".encode("utf-16"), r"not UTF-8 \(but UTF-16, it seems: save it as UTF-8\); dataset"),
    "one letter": ({"test": 2, "validation": 2, "context": 2}, b"a" * 99, "characters throughout: nothing to learn"),
    "one byte": ({"unit": "bytes", "test": 2, "validation": 2, "context": 2}, b"\0" * 99, "of the bytes throughout"),
    "zeros": ({}, b"abc\0def" * 99, "is not a text, character 3 is 0"),
    "short": ({}, b"abc", "leave none of the text's 3 characters to train on; give smaller ones"),
    "context": ({"context": 150}, b"abcdefghij" * 60, "dataset.context=150: the validation text has 100 characters"),
    "subset": ({"subset": 1000}, b"abcdefghij" * 60, "dataset.subset=1000: the training split has 29 examples"),
    "name": ({"name": "shakespear"}, b"abc", "did you mean tiny_shakespeare"),
    "unit": ({"unit": "words"}, b"abc", "dataset.unit 'words' does not exist"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_refused_in_one_line(case, tmp_path):
    options, content, message = BAD[case]
    path = tmp_path / "text"
    path.write_bytes(content)
    with one_line_error(message):
        small(path, **options)


def test_files_that_are_not_there_are_named(tmp_path, file):
    with pytest.raises(UserError, match=r"no such file; did you mean .*/words\.txt\?"):
        small(tmp_path / "word.txt")
    with pytest.raises(UserError, match="is a folder, and a text file is needed"):
        small(tmp_path)


def name_of(*overrides):
    return with_content(compose(["dataset=text", "model=gpt", *overrides])).name


def test_identity_knows_the_content_and_not_the_name(file, tmp_path):
    first = name_of(f"dataset.file={file}")
    moved = file.rename(tmp_path / "moved.txt")
    assert name_of(f"dataset.file={moved}") == first
    moved.write_bytes(TEXT.encode() + b"!")
    os.utime(moved, (1, 1))
    assert name_of(f"dataset.file={moved}") != first


def test_identity_knows_the_help_texts_of_this_python(monkeypatch):
    assert Text().content() == hashlib.sha256(topics()).hexdigest()
    first = name_of()
    monkeypatch.setattr("normexp.data.text.topics", lambda: b"other texts")
    assert name_of() != first


def test_a_download_counts_by_its_name(file):
    assert Text(name="tiny_shakespeare").content() == PUBLISHED
    assert Text(file=str(file)).content() != PUBLISHED


@pytest.mark.parametrize("take", [Text.content, Text.find, Text.fetch, lambda text: text.load(0)])
def test_another_text_under_the_name_of_a_download_is_refused(file, take):
    """It was trained on, and recorded as tiny_shakespeare."""
    with one_line_error(r"words\.txt: is not tiny_shakespeare \(SHA-256 .*leave out dataset\.name=tiny_shakespeare"):
        take(Text(name="tiny_shakespeare", file=str(file)))


def test_a_copy_of_a_download_has_its_name(monkeypatch, file):
    monkeypatch.setattr(text, "FILE", replace(FILE, sha256=hashlib.sha256(file.read_bytes()).hexdigest()))
    copy = Text(name="tiny_shakespeare", file=str(file), context=8, validation=100, test=100)
    assert (copy.content(), copy.find()) == (PUBLISHED, True)
    assert len(copy.load(0).train)


def test_a_download_that_fails_names_the_key_of_a_text(monkeypatch, tmp_path):
    monkeypatch.setenv("NORMEXP_DATA", str(tmp_path))
    monkeypatch.setattr(text, "FILE", replace(FILE, urls=("http://127.0.0.1:9/input.txt",)))
    with pytest.raises(UserError, match=r"give a copy of your own with dataset\.file=PATH"):
        Text(name="tiny_shakespeare").load(0)


@pytest.mark.data
def test_tiny_shakespeare_is_the_published_file(shared_data):
    file = shared_data / "tinyshakespeare.txt"
    text = Text(name="tiny_shakespeare", file=str(file), validation=0, test=111_540)
    data = text.load(0)
    assert text.content() == PUBLISHED
    assert FILE.checksum_of(file) == FILE.sha256
    assert (data.num_outputs, data.bytes_per_token) == (65, 1.0)
    assert len(data.train) == 1_003_853 // 64
    name = ["dataset.name=tiny_shakespeare"]
    assert name_of(*name, f"dataset.file={file}") == name_of(*name)


def test_byte_order_mark_is_no_character(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + b"abcd " * 100)
    data = Text(file=str(tmp_path / "a.txt"), context=10, validation=50, test=50).load(0)
    assert data.classes == (" ", "a", "b", "c", "d")
