"""Questions about texts: their arrays, bAbI, the CNN corpus's files, and the generated cloze stories."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from server import Server, sends

from normexp.data import babi, cloze
from normexp.data.babi import Babi
from normexp.data.base import Split
from normexp.data.cloze import Cloze
from normexp.data.files.download import Remote
from normexp.data.texts.entity_stories import RELATIONS, generate
from normexp.data.texts.questions import Record, matching_sentences, parse, with_shuffled_entities
from normexp.data.texts.stories import read_stories
from normexp.data.texts.tokens import PADDING, UNKNOWN, Question, encode, vocabulary
from normexp.errors import UserError

SMALL = {"examples": 300, "test": 100, "validation": 50}
PINNED = "4f37ed5881708355def8c7753c7c1acff09e2ef726abf7e965b18f1dbe6cdf8c"

STORIES = b"""1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel took the milk.
5 What is Daniel carrying?\tmilk,football\t4
6 Where is John? \thallway\t2
1 Mary is in the park.
2 Where is Mary?\tpark\t1
"""


def words_of(split: Split, words: tuple[str, ...]) -> list[Question]:
    """Turn arrays back into words."""
    found = []
    for (numbers, part, mask), answer in zip(np.moveaxis(split.x, 2, 1), split.y, strict=True):
        texts = [[words[int(n)] for n in numbers[(mask == 1) & (part == which)]] for which in (0, 1)]
        found.append(Question(*texts, words[answer]))
    return found


def test_encode_puts_the_question_after_the_document_and_pads_the_end() -> None:
    questions = [Question(["a", "b"], ["c"], "b"), Question(["z"], ["a"], "z")]
    split = encode(questions, (PADDING, UNKNOWN, "a", "b", "c"))
    assert split.x[0].tolist() == [[2, 0, 1], [3, 0, 1], [4, 1, 1]]
    assert split.x[1].tolist() == [[1, 0, 1], [2, 1, 1], [0, 0, 0]]
    assert (split.y.tolist(), split.x.dtype, split.y.dtype) == ([3, 1], np.float32, np.int64)


def test_vocabulary_is_ordered_by_count_then_name_and_keeps_answers() -> None:
    questions = [Question(["b", "a", "c", "c"], ["b"], "rare"), Question(["a"], [], "c")]
    assert vocabulary(questions) == (PADDING, UNKNOWN, "c", "a", "b", "rare")
    assert vocabulary(questions, size=1) == (PADDING, UNKNOWN, "c", "a", "rare")
    assert vocabulary(questions, size=0) == (PADDING, UNKNOWN, "c", "rare")


def test_read_stories_gives_each_question_all_sentences_before_it() -> None:
    first, second = read_stories(STORIES, "qa1")
    assert [question.answer for question in first] == ["bathroom", "milk,football", "hallway"]
    said = "mary moved to the bathroom . john went to the hallway ."
    assert " ".join(first[0].document) == said
    assert " ".join(first[2].document) == f"{said} daniel took the milk ."
    assert second == [Question(("mary", "is", "in", "the", "park", "."), ["where", "is", "mary", "?"], "park")]


DAMAGED = [b"Mary moved.", b"1 Mary.\n3 John.", b"2 Mary.", b"1 Where?\tbathroom", b"<html>", b"1 Mary.\n\n2 John."]


@pytest.mark.parametrize("data", DAMAGED)
def test_read_stories_names_the_line_that_is_none(data: bytes) -> None:
    with pytest.raises(UserError, match=r"^qa1, line [12]: .* is no line of a bAbI story"):
        read_stories(data, "qa1")


def test_read_stories_refuses_what_is_no_text() -> None:
    with pytest.raises(UserError, match=r"^qa1: not a text"):
        read_stories(b"\x1f\x8b\x00\xff", "qa1")


@pytest.fixture
def babi_files() -> dict[str, bytes]:
    """Task 1: 4 stories of 2 questions with one word as answer, and one with two; and a decoy of another task."""
    top = "tasks_1-20_v1-2"
    test = b"1 Mary is in the cave.\n2 Where is Mary?\tcave\t1\n3 Where was Mary?\tpark\t1\n"
    stories = b"".join(
        STORIES.split(b"\n1 ")[0].replace(b"Mary", name) + b"\n" for name in (b"Ann", b"Bo", b"Cy", b"Di")
    )
    return {
        f"{top}/README.txt": b"hello",
        f"{top}/en/qa1_one_test.txt": test,
        f"{top}/en/qa1_one_train.txt": stories,
        f"{top}/en/qa10_ten_train.txt": b"1 Nothing.\n2 What?\tnothing\t1\n",
        f"{top}/en-10k/qa1_one_train.txt": b"1 Nothing.\n2 What?\tnothing\t1\n",
        f"{top}/en/qa19_path_train.txt": b"1 The park is north of the cave.\n2 How?\tn,n\t1\n",
        f"{top}/en/qa19_path_test.txt": b"1 The park is north of the cave.\n2 How?\tn,n\t1\n",
    }


def test_babi_opens_an_archive(write_tar: Callable[..., Path], babi_files: dict[str, bytes]) -> None:
    data = Babi(archive=str(write_tar(babi_files)), validation=0).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (8, 0, 2)
    assert (data.train.x.shape[2], data.num_outputs) == (3, len(data.classes))
    asked = words_of(data.train, data.classes)
    assert [question.answer for question in asked] == ["bathroom", "hallway"] * 4
    assert " ".join(asked[2].question) == "where is bo ?"
    assert asked[3].document[-5:] == ["daniel", "took", "the", "milk", "."]


def test_babi_vocabulary_is_that_of_the_training_file(
    write_tar: Callable[..., Path], babi_files: dict[str, bytes]
) -> None:
    data = Babi(archive=str(write_tar(babi_files)), validation=0).load(0)
    assert "cave" not in data.classes
    first = words_of(data.test, data.classes)[0]
    assert (first.answer, first.document) == (UNKNOWN, [UNKNOWN, "is", UNKNOWN, "the", UNKNOWN, "."])
    note = "8 of 1,000 training questions: answers of one word; 2 answers never seen in training"
    assert data.note == note


def test_babi_opens_a_folder_and_its_collections(write_tree: Callable[..., Path], babi_files: dict[str, bytes]) -> None:
    top = write_tree(babi_files) / "tasks_1-20_v1-2"
    fingerprints = {
        Babi(archive=str(place), validation=0).load(0).fingerprint for place in (top.parent, top, top / "en")
    }
    assert len(fingerprints) == 1


def test_babi_holds_out_whole_stories(write_tar: Callable[..., Path], babi_files: dict[str, bytes]) -> None:
    archive = str(write_tar(babi_files))
    data = Babi(archive=archive, validation=3).load(0)
    assert (len(data.train), len(data.validation)) == (4, 4)
    names = [
        {" ".join(q.document).split()[0] for q in words_of(split, data.classes)}
        for split in (data.train, data.validation)
    ]
    assert [len(found) for found in names] == [2, 2]
    assert not names[0] & names[1]
    with pytest.raises(UserError, match=r"dataset\.validation=8: the training split has only 8 examples"):
        Babi(archive=archive, validation=8).load(0)


def test_babi_opens_the_cache_the_second_time(
    write_tar: Callable[..., Path], babi_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Babi(archive=str(write_tar(babi_files)), validation=2)
    first = dataset.load(0).fingerprint

    def forbidden(*args: object) -> None:
        raise AssertionError("read a second time")

    monkeypatch.setattr(babi, "find_stories", forbidden)
    assert dataset.load(1).fingerprint == first


BABI_REFUSED = {
    "a missing file": ({"task": 2}, r"en/qa2_\*_train\.txt is missing; get a complete copy"),
    "half a task": ({"collection": "en-10k"}, r"en-10k/qa1_\*_test\.txt is missing"),
    "several words": ({"task": 19}, r"dataset\.task=19: no answer of a single word"),
    "a collection": ({"collection": "en10k"}, r"dataset\.collection 'en10k' does not exist; .*did you mean en-10k\?"),
}


@pytest.mark.parametrize(("options", "expected"), BABI_REFUSED.values(), ids=BABI_REFUSED)
def test_babi_names_what_it_cannot_have(
    options: dict[str, object], expected: str, write_tar: Callable[..., Path], babi_files: dict[str, bytes]
) -> None:
    with pytest.raises(UserError, match=expected):
        Babi(archive=str(write_tar(babi_files)), **options).load(0)  # type: ignore[arg-type]


def test_babi_names_a_damaged_file_and_a_missing_archive(
    write_tar: Callable[..., Path], babi_files: dict[str, bytes], tmp_path: Path, cache_folder: Path
) -> None:
    damaged = babi_files | {"tasks_1-20_v1-2/en/qa1_one_train.txt": b"404"}
    with pytest.raises(UserError, match=r"tasks\.tar\.gz: tasks_1-20_v1-2/en/qa1_one_train\.txt, line 1: '404'"):
        Babi(archive=str(write_tar(damaged, "tasks.tar.gz"))).load(0)
    whole = write_tar(babi_files)
    whole.write_bytes(whole.read_bytes()[:-30])
    with pytest.raises(UserError, match="damaged or truncated archive"):
        Babi(archive=str(whole)).load(0)
    with pytest.raises(UserError, match=r"dataset\.archive=.*nowhere: no such file or folder"):
        Babi(archive=str(tmp_path / "nowhere")).load(0)
    assert list(cache_folder.iterdir()) == []


def test_babi_downloads_once_and_verifies_sha256(
    server: Server,
    write_tar: Callable[..., Path],
    babi_files: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    cache_folder: Path,
) -> None:
    body = write_tar(babi_files).read_bytes()
    server.answers["/tasks.tar.gz"] = sends(body)
    offered = replace(babi.ARCHIVE, urls=(f"{server.url}/tasks.tar.gz",), sha256=hashlib.sha256(body).hexdigest())
    monkeypatch.setattr(babi, "ARCHIVE", offered)
    first = Babi(validation=0).load(0)
    server.answers["/tasks.tar.gz"] = sends(b"<html>moved</html>")
    assert Babi(validation=0).load(0).fingerprint == first.fingerprint
    kept = cache_folder / "downloads" / "babi" / "tasks_1-20_v1-2.tar.gz"
    kept.write_bytes(b"damaged")
    expected = f"SHA-256 [0-9a-f]{{64}}, expected {offered.sha256}.*dataset.archive=PATH"
    with pytest.raises(UserError, match=expected):
        Babi(validation=0, collection="en-10k").load(0)


def test_babi_archive_is_the_published_one() -> None:
    assert isinstance(babi.ARCHIVE, Remote)
    assert (len(babi.ARCHIVE.sha256), babi.ARCHIVE.md5) == (64, "")


RECORD = Record(
    ["@entity0", "hired", "@entity1", ".", "rain", "fell", ".", "@entity1", "phoned", "@entity2", "."],
    ["@placeholder", "gave", "a", "job", "to", "@entity1"],
    "@entity0",
    {"@entity0": "Ada", "@entity1": "Ben", "@entity2": "Cleo: the third"},
)


def as_text(record: Record) -> str:
    """Return the content of the record's file."""
    names = "\n".join(f"{marker}:{name}" for marker, name in record.entities.items())
    blocks = ("http://example.org/1", " ".join(record.passage), " ".join(record.question), record.answer, names)
    return "\n\n".join(blocks) + "\n"


def test_question_file_reads_back_as_written() -> None:
    assert parse(as_text(RECORD).encode(), "a") == RECORD
    assert parse(as_text(RECORD).replace("\n", "\r\n").encode(), "a") == RECORD


def test_question_file_has_the_blocks_of_the_corpus() -> None:
    lines = as_text(RECORD).split("\n")
    assert lines[0] == "http://example.org/1"
    assert [lines[place] for place in (1, 3, 5, 7)] == [""] * 4
    assert lines[6:9] == ["@entity0", "", "@entity0:Ada"]


TEXT = as_text(RECORD)
BAD_FILES = {
    "empty": (b"", "1 blocks, expected 5"),
    "truncated": (TEXT[:120].encode(), "blocks, expected 5"),
    "no text": (b"\xff\xfe\x00", "not a text"),
    "no placeholder": (TEXT.replace("@placeholder", "who").encode(), "no @placeholder in the question"),
    "long answer": (TEXT.replace("\n@entity0\n", "\nA B\n").encode(), "not one word: 'A B'"),
    "bad names": (TEXT.replace("@entity1:Ben", "Ben").encode(), "damaged list of entities"),
}


@pytest.mark.parametrize(("data", "expected"), BAD_FILES.values(), ids=BAD_FILES)
def test_damaged_question_file_is_named(data: bytes, expected: str) -> None:
    with pytest.raises(UserError, match=rf"^f\.question: .*{expected}"):
        parse(data, "f.question")


def test_shuffled_entities_are_renamed_throughout() -> None:
    (renamed,) = with_shuffled_entities([RECORD], 50, np.random.default_rng(0))
    new = dict(zip(RECORD.entities, renamed.entities, strict=True))
    assert len(set(new.values())) == 3
    assert set(new.values()) != set(RECORD.entities)
    assert list(renamed.passage) == [new.get(word, word) for word in RECORD.passage]
    assert list(renamed.question) == ["@placeholder", "gave", "a", "job", "to", new["@entity1"]]
    assert (renamed.answer, list(renamed.entities.values())) == (new["@entity0"], ["Ada", "Ben", "Cleo: the third"])


def test_matching_sentences_keep_their_order() -> None:
    words = list(RECORD.passage)
    assert matching_sentences(words, RECORD.question, 1) == ["@entity0", "hired", "@entity1", "."]
    question = ["@entity2", "fell", "@entity1"]
    assert " ".join(matching_sentences(words, question, 2)) == "@entity0 hired @entity1 . @entity1 phoned @entity2 ."
    assert matching_sentences(words, question, 9) == words


def test_generated_story_states_the_asked_fact_once() -> None:
    said = {question: statement for statement, question in RELATIONS}
    for record in generate(np.random.default_rng(0), 300, entities=4, facts=10, fillers=2):
        sentences = " ".join(record.passage).split(" . ")
        assert len(sentences) == 12
        subject, *verb, object_ = record.question
        statement = said[" ".join(verb)]
        answers = [
            (who, whom)
            for who, what, whom in (_parted(sentence) for sentence in sentences)
            if what == statement and (who == subject or whom == object_)
        ]
        assert len(answers) == 1
        assert answers[0] in [(record.answer, object_), (subject, record.answer)]
        assert "@placeholder" in (subject, object_)


def _parted(sentence: str) -> tuple[str, str, str]:
    who, *what, whom = sentence.removesuffix(" .").split()
    return who, " ".join(what), whom


def test_cloze_is_what_it_always_was_and_follows_the_run_seed() -> None:
    first, other = (Cloze(**SMALL).load(seed) for seed in (0, 1))  # type: ignore[arg-type]
    assert first.fingerprint == PINNED != other.fingerprint
    assert (len(first.train), len(first.validation), len(first.test), first.note) == (250, 50, 100, "")


def test_cloze_cannot_be_guessed_from_its_markers() -> None:
    data = Cloze(examples=3000, validation=0).load(0)
    asked = words_of(data.train, data.classes)
    answers = Counter(question.answer for question in asked)
    assert set(answers) == {f"@entity{number}" for number in range(6)}
    assert max(answers.values()) < 1.2 * len(asked) / 6  # no marker is right more often than chance
    often = [Counter(w for w in q.document if w.startswith("@")).most_common(1)[0][0] == q.answer for q in asked]
    assert np.mean(often) < 0.3  # nor is the one that the story names most often


def test_cloze_draws_markers_from_a_larger_pool() -> None:
    data = Cloze(markers=30, **SMALL).load(0)  # type: ignore[arg-type]
    assert sum(word.startswith("@entity") for word in data.classes) == 30
    for question in words_of(data.test, data.classes):
        assert question.answer in question.document


def written(folder: Path, options: Cloze, seed: int) -> Path:
    """Write generated stories as the corpus's own files."""
    for part, records in options._generated(seed).items():
        place = folder / "questions" / part
        place.mkdir(parents=True)
        for number, record in enumerate(records):
            (place / f"{number:05}.question").write_text(as_text(record), encoding="utf-8")
    return folder


def test_cloze_reads_generated_stories_back_from_files(tmp_path: Path) -> None:
    options = Cloze(examples=12, test=5, validation=4, shuffle_entities=False)
    folder = written(tmp_path / "cnn", options, seed=3)
    assert replace(options, path=str(folder)).load(0).fingerprint == options.load(3).fingerprint


def test_cloze_reads_an_archive_with_its_own_validation_split(write_tar: Callable[..., Path]) -> None:
    files = {
        f"cnn/questions/{part}/{n}.question": TEXT.encode() for part in ("training", "validation", "test") for n in "ba"
    }
    data = Cloze(path=str(write_tar(files))).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (2, 2, 2)
    for question in words_of(data.train, data.classes):
        assert question.answer in question.document


def test_cloze_orders_an_archive_by_name(write_tar: Callable[..., Path]) -> None:
    other = TEXT.replace("rain fell", "snow fell")
    files = {"training/b.question": TEXT, "training/a.question": other, "test/a.question": TEXT}
    path = str(write_tar({name: text.encode() for name, text in files.items()}))
    data = Cloze(path=path, validation=0).load(0)
    assert ["snow" in question.document for question in words_of(data.train, data.classes)] == [True, False]


def test_cloze_shortens_documents(write_tar: Callable[..., Path]) -> None:
    path = str(write_tar({f"{part}/0.question": TEXT.encode() for part in ("training", "test")}))
    for options, words in (({"sentences": 1}, 4), ({"document_length": 5}, 5), ({}, 11)):
        data = Cloze(path=path, validation=0, **options).load(0)  # type: ignore[arg-type]
        assert len(words_of(data.train, data.classes)[0].document) == words


def test_cloze_opens_the_cache_until_an_option_changes(
    write_tar: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = Cloze(
        path=str(write_tar({f"{part}/0.question": TEXT.encode() for part in ("training", "test")})), validation=0
    )
    dataset.load(0)
    monkeypatch.setattr(cloze, "read_records", lambda path: pytest.fail("read a second time"))
    assert dataset.load(0).classes
    with pytest.raises(pytest.fail.Exception, match="read a second time"):
        replace(dataset, sentences=1).load(0)


CLOZE_REFUSED = {
    "no folder": ({"path": "/nowhere"}, r"dataset\.path=/nowhere: no such file or folder"),
    "too many facts": ({"facts": 49}, r"dataset\.facts=49: 6 entities have at most 48 relations"),
    "too many entities": ({"entities": 21}, r"dataset\.entities=21: there are names for at most 20"),
    "too few markers": ({"markers": 5, "examples": 5}, r"dataset\.markers=5: a story has 6 entities, so at least 6"),
}


@pytest.mark.parametrize(("options", "expected"), CLOZE_REFUSED.values(), ids=CLOZE_REFUSED)
def test_cloze_refuses_in_one_line(options: dict[str, object], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        Cloze(**options).load(0)  # type: ignore[arg-type]


def test_cloze_names_a_missing_split(write_tar: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match=r"dataset\.path=.*: no test/\*\.question in it"):
        Cloze(path=str(write_tar({"training/0.question": TEXT.encode()}))).load(0)


@pytest.mark.data
@pytest.mark.parametrize("task", range(1, 21))
def test_babi_tasks_are_complete(task: int, shared_data: Path) -> None:
    dataset = Babi(task=task, archive=str(shared_data / "tasks_1-20_v1-2.tar.gz"))
    if task == 19:
        with pytest.raises(UserError, match="no answer of a single word"):
            dataset.load(0)
        return
    data = dataset.load(0)
    total = len(data.train) + len(data.validation)
    assert total == (1000 if task != 8 else 924)
    assert (data.note == "") == (task != 8)
    assert 100 <= len(data.validation) < 112
    assert len(data.test) == 1000 or task == 8
    assert not (data.test.y < 2).any()  # every answer is a word of the training file
    assert not (data.test.x[..., 0][data.test.x[..., 2] == 1] == 0).any()


@pytest.mark.data
def test_babi_tells_which_file_the_local_copy_lacks(shared_data: Path) -> None:
    archive = str(shared_data / "tasks_1-20_v1-2.tar.gz")
    with pytest.raises(UserError, match=r"en-10k/qa3_\*_train\.txt is missing"):
        Babi(task=3, collection="en-10k", archive=archive).load(0)
    assert len(Babi(collection="en-10k", archive=archive).load(0).train) == 9900
