"""The attentive reader: its equations, padding, texts of any length, initial weights, runs by the command line."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from attentive_equations import AttentiveReference
from drawn_weights import drawn_weights
from one_line import assert_refused
from outcomes import outcome
from recurrent_cases import EXACT, SCHEMES
from torch import Tensor, nn

from normexp.config import compose
from normexp.data.texts.tokens import PADDING, UNKNOWN, Question, encode
from normexp.models.attentive_reader import AttentiveReader
from normexp.models.recurrent.reader import mirrored
from normexp.models.texts import document_and_question
from normexp.training.build import build_model, build_norm, named_norm

WORDS = (PADDING, UNKNOWN, *"abcde")
DOCUMENTS, QUESTIONS = ("abcda", "deabc", "ca", "ebd"), ("d", "abca", "ebdd", "c")  # the third question is the longer
STEPS = 9
BASE = ["model=attentive_reader", "dataset=cloze", "inputs=none"]
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)
each_kind = pytest.mark.parametrize(
    ("everywhere", "bidirectional"), [(False, False), (True, True)], ids=["forwards", "everywhere, both directions"]
)


def reader(scheme: str, everywhere: bool = False, bidirectional: bool = True, **more) -> AttentiveReader:
    """Return a reader in double with values at which no term of an equation vanishes."""
    torch.manual_seed(0)
    norm = named_norm(scheme)
    own = {"hidden": 3, "embedding": 2, "learned_state": True, **more}
    own |= {"normalize_attention": everywhere, "bidirectional": bidirectional}
    made = AttentiveReader((STEPS, 3), len(WORDS), norm, **own).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return made


def batch(documents: Sequence[str] = DOCUMENTS, questions: Sequence[str] = QUESTIONS) -> Tensor:
    """Return texts, a letter being a word, as the data sets hold them."""
    asked = [Question(list(d), list(q), "a") for d, q in zip(documents, questions, strict=True)]
    return torch.from_numpy(encode(asked, WORDS).x)


def numbers(texts: Sequence[str]) -> list[list[int]]:
    return [[WORDS.index(word) for word in text] for text in texts]


@each_scheme
@each_kind
def test_answers_and_gradients_are_those_of_the_equations(scheme, everywhere, bidirectional):
    model, rng = reader(scheme, everywhere, bidirectional), np.random.default_rng(1)
    values = {name: parameter.detach().numpy().copy() for name, parameter in model.named_parameters()}
    texts, cotangent = (numbers(DOCUMENTS), numbers(QUESTIONS)), rng.normal(size=(len(DOCUMENTS), len(WORDS)))
    found = model(batch())
    expected = AttentiveReference(scheme, everywhere, bidirectional, values).answers(*texts)
    np.testing.assert_allclose(found.detach(), expected, **EXACT)
    found.backward(torch.from_numpy(cotangent))
    for name, parameter in model.named_parameters():
        way = rng.normal(size=values[name].shape)
        moved = AttentiveReference(scheme, everywhere, bidirectional, values | {name: values[name] + 1e-30j * way})
        slope = (moved.answers(*texts) * cotangent).sum().imag / 1e-30
        np.testing.assert_allclose((parameter.grad.numpy() * way).sum(), slope, **EXACT, err_msg=name)


@each_scheme
@each_kind
def test_answer_does_not_depend_on_the_padding(scheme, everywhere, bidirectional):
    model, x = reader(scheme, everywhere, bidirectional), batch()
    longer = nn.functional.pad(x, (0, 0, 0, 3))
    inside = longer[..., 2:] > 0
    for padding in (torch.zeros(3), torch.tensor([4.0, 1.0, 0.0])):
        for one, other in zip(outcome(model, x), outcome(model, torch.where(inside, longer, padding)), strict=True):
            assert torch.equal(one, other)


@each_scheme
@each_kind
def test_answer_in_evaluation_does_not_depend_on_the_other_texts(scheme, everywhere, bidirectional):
    model, x = reader(scheme, everywhere, bidirectional), batch()
    model(x)
    together = model.eval()(x)
    for n, (document, question) in enumerate(zip(DOCUMENTS, QUESTIONS, strict=True)):
        alone = model(x[n : n + 1, : len(document) + len(question)])
        torch.testing.assert_close(alone[0], together[n])


def test_answer_depends_on_every_word_of_both_texts():
    model = reader("none").eval()
    together = model(batch(["abcd"], ["eab"]))
    for place in range(7):
        changed = list("abcdeab")
        changed[place] = "e" if changed[place] != "e" else "c"
        words = "".join(changed)
        assert not torch.allclose(model(batch([words[:4]], [words[4:]])), together)


@each_scheme
@each_kind
def test_a_batch_of_padding_alone_gives_finite_numbers(scheme, everywhere, bidirectional):
    model = reader(scheme, everywhere, bidirectional)
    assert all(part.isfinite().all() for part in outcome(model, torch.zeros(8, STEPS, 3)))


def test_texts_are_parted_and_packed():
    document, question = document_and_question(batch())
    for packed, texts in ((document, DOCUMENTS), (question, QUESTIONS)):
        padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        assert [row[:length].tolist() for row, length in zip(padded, lengths, strict=True)] == numbers(texts)
        assert len(packed.data) == sum(map(len, texts))


def test_mirrored_turns_every_sequence_around_within_itself():
    packed, _ = document_and_question(batch())
    turned, _ = document_and_question(batch([text[::-1] for text in DOCUMENTS]))
    order = mirrored(packed.batch_sizes)
    assert torch.equal(packed.data[order], turned.data)
    assert torch.equal(order[order], torch.arange(len(order)))


def test_attention_looks_at_the_one_word_that_fits():
    """With large scores the softmax picks a step: the score of a state y is 10^5 tanh(first feature of y)."""
    attention, (document, _) = reader("none", bidirectional=False).attention, document_and_question(batch())
    states = torch.randn(len(document.data), 3).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.zero_()
        attention.from_document.layer.weight[0, 0] = 1.0
        attention.score.weight[0, 0] = 1e5
    y, lengths = nn.utils.rnn.pad_packed_sequence(document._replace(data=states), batch_first=True)
    found = attention(document._replace(data=states), torch.zeros(len(DOCUMENTS), 3).double())
    expected = [row[:length][row[:length, 0].argmax()] for row, length in zip(y, lengths, strict=True)]
    torch.testing.assert_close(found, torch.stack(expected))


@pytest.mark.parametrize("scheme", ["layer", "recurrent_batch"])
def test_norm_is_in_the_attention_if_asked_for(scheme):
    more = {name for name in dict(reader(scheme, everywhere=True).named_parameters()) if "from_" in name}
    less = {name for name in dict(reader(scheme).named_parameters()) if "from_" in name}
    terms = ("attention.from_document", "attention.from_question", "from_document", "from_question")
    assert {name.partition(".norm.")[0] for name in more - less} == set(terms)


def test_batch_normalized_terms_start_with_small_gains_and_have_no_bias():
    model = AttentiveReader((STEPS, 3), 7, named_norm("recurrent_batch"), normalize_attention=True)
    terms = [model.attention.from_document, model.attention.from_question, model.from_document, model.from_question]
    for term in terms:
        assert bool((term.norm.weight == 0.1).all())
        assert term.norm.bias is None
    assert [len(term.norm.running.mean) for term in terms] == [STEPS, 1, 1, 1]


@pytest.mark.parametrize("more", [[], ["model.recurrent_init=orthogonal"], ["init=glorot"]], ids=str)
@pytest.mark.parametrize("arm", [[f"norm={name}"] for name in SCHEMES] + [["model.normalize_attention=true"]], ids=str)
def test_initial_weights_are_those_of_every_other_arm(arm, more):
    def weights(*overrides: str) -> list[Tensor]:
        config = compose([*BASE, "model.hidden=8", "model.embedding=6", *more, *overrides])
        model = build_model(config, build_norm(config), (STEPS, 3), 20)
        return [model.words.weight.detach(), *drawn_weights(model)]

    for one, other in zip(weights(*arm), weights("norm=none"), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def test_dropout_is_of_training_alone():
    model, same, x = reader("none", dropout=0.5), reader("none"), batch()
    assert not torch.equal(model(x), model(x))
    assert torch.equal(model.eval()(x), same(x))


def test_dropout_is_at_the_words_and_before_the_answer():
    model, seen = reader("none", dropout=0.5), []
    model.dropout.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    model(batch())
    of_words = [(sum(map(len, texts)), model.words.embedding_dim) for texts in (DOCUMENTS, QUESTIONS)]
    assert seen == [*of_words, (len(DOCUMENTS), 3)]


IMPOSSIBLE = {
    "another scheme": (["norm=batch"], "norm=batch has no form", "recurrent_batch"),
    "two initializations": (["init=he", "model.recurrent_init=identity"], "init=he", "leave one out"),
    "images": (["dataset=digits"], "model=attentive_reader needs texts", "use model=linear"),
    "sequences": (["dataset=adding"], "model=attentive_reader needs texts", "use model=lstm_classifier"),
    "rate": (["model.dropout=1"], "model.dropout=1", "[0, 1)"),
}


@pytest.mark.parametrize(("overrides", "named", "way_out"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_attentive_reader_refuses_in_one_line(overrides, named, way_out):
    assert_refused([*BASE, *overrides], named, way_out)


TINY = [*BASE, "dataset.entities=3", "dataset.facts=2", "dataset.fillers=0", "dataset.examples=60", "dataset.test=20"]
TINY += ["dataset.validation=20", "batch_size=20", "model.hidden=6", "steps=3", "threads=1", "device=cpu"]


@each_scheme
def test_every_scheme_trains_by_the_command_line(cli, results: Path, scheme):
    own = [f"norm={scheme}", "model.normalize_attention=true", "model.dropout=0.1"]
    status, _, stderr = cli("run", *TINY, *own, f"results_dir={results}", "--quiet")
    assert status == 0, stderr
    (found,) = (results / "runs").iterdir()
    assert json.loads((found / "status.json").read_text())["status"] == "done"


@pytest.mark.slow
def test_reader_learns_what_a_story_tells(cli, results: Path):
    """One fact, so that the answer is the entity of the story that the question does not name: chance is one half."""
    easy = ["dataset.entities=2", "dataset.facts=1", "dataset.examples=800", "dataset.validation=200", "eval_every=200"]
    fast = ["model.hidden=16", "model.embedding=16", "steps=200", "optim=adam", "optim.lr=0.01", "norm=layer"]
    status, _, stderr = cli("run", *TINY, *easy, *fast, f"results_dir={results}", "--quiet")
    assert status == 0, stderr
    (found,) = (results / "runs").iterdir()
    rows = [line.split(",") for line in (found / "metrics.csv").read_text().splitlines()]
    assert float(rows[-1][rows[0].index("validation/accuracy")]) > 0.9
