"""A run that learns a text: it trains, resumes its record, and writes."""

import math
import re
import shlex

import pytest

from normexp.data.text import BYTES, encode
from normexp.errors import UserError
from normexp.records import read_rows
from normexp.runs.sample import sample

pytestmark = pytest.mark.slow  # every one trains a decoder

TEXT = "the cat sat on the mat and the dog sat on the log\n" * 60
SMALL = ["model=gpt", "model.width=16", "model.layers=1", "model.heads=2", "dataset=text", "dataset.context=16"]
SMALL += ["dataset.validation=200", "dataset.test=200", "optim=adamw", "optim.lr=0.01", "batch_size=16", "steps=120"]


@pytest.fixture
def learned(tmp_path):
    """A finished run of a text, its text, and the run's overrides."""
    from normexp.runs.python import run

    file = tmp_path / "cats.txt"
    file.write_text(TEXT)
    words = [*SMALL, f"dataset.file={file}", f"results_dir={tmp_path / 'results'}", "device=cpu", "threads=1"]
    return run(words), file


def test_a_decoder_learns_a_text_and_writes_the_same_text_every_time(learned):
    run, file = learned
    losses = [float(row["test/loss"]) for row in read_rows(run.path / "metrics.csv")]
    assert losses[-1] < 0.5 * losses[0]
    bits = float(read_rows(run.path / "metrics.csv")[-1]["test/bits_per_byte"])
    assert bits == pytest.approx(losses[-1] / 0.6931471805599453)
    texts = sample(run.path, "the ", count=40, texts=2, file=str(file))
    assert texts == sample(run.path, "the ", count=40, texts=2, file=str(file))
    assert [len(text) for text in texts] == [40, 40]
    assert set("".join(texts)) <= set(TEXT)
    with pytest.raises(UserError, match=r"^--prompt 'X': 'X' does not occur in the text, which has"):
        sample(run.path, "X", file=str(file))
    file.write_text(TEXT.replace("cat", "ant"))
    with pytest.raises(UserError, match="has learned another text"):
        sample(run.path, file=str(file))
    file.unlink()
    with pytest.raises(UserError, match=r"cats\.txt, the text that it has learned, is not here; --file PATH"):
        sample(run.path)
    with pytest.raises(UserError, match=r"^--file .*cats\.txt: no such file"):
        sample(run.path, file=str(file))


def test_a_text_on_one_line_is_gone_on_from_its_first_character(tmp_path, cli):
    file = tmp_path / "line.txt"
    file.write_text("hello world " * 100)
    words = [*SMALL, f"dataset.file={file}", f"results_dir={tmp_path / 'results'}", "steps=2", "threads=1"]
    words = [word for word in words if word != "steps=120"]
    status, stdout, stderr = cli("run", *words)
    assert (status, "does not occur" in stderr) == (0, False)
    more = re.search(r"^sample \(normexp sample (.*) writes more\):$", stdout, re.MULTILINE)
    assert cli("sample", *shlex.split(more[1]))[0] == 0
    (run,) = (tmp_path / "results" / "runs").iterdir()
    assert len(sample(run, count=20, file=str(file))[0]) == 20
    assert cli("sample", run, "--length", "5", "--file", file)[0] == 0


def test_a_sample_cannot_steer_the_terminal(tmp_path, cli):
    file = tmp_path / "bell.txt"
    file.write_text("\x1b\x07" * 600)
    words = [*SMALL, f"dataset.file={file}", f"results_dir={tmp_path / 'results'}", "threads=1"]
    status, stdout, _ = cli("run", *[word for word in words if word != "steps=120"], "steps=2")
    more = re.search(r"^sample \(normexp sample (.*) writes more\):$", stdout, re.MULTILINE)
    again, drawn, _ = cli("sample", *shlex.split(more[1]))
    assert (status, again, "\x1b" in stdout + drawn, r"\x1b" in drawn) == (0, 0, False, True)


def test_a_temperature_near_0_takes_the_likeliest_character(learned):
    run, file = learned
    for temperature in (1e-30, 1e-39, 1e-300):
        cold = sample(run.path, "the ", count=30, texts=3, file=str(file), temperature=temperature)
        assert cold == [cold[0]] * 3
    assert set(sample(run.path, "the ", 400, file=str(file), temperature=math.inf)[0]) == set(TEXT)


def test_a_byte_of_the_prompt_that_is_no_utf_8_is_that_byte(tmp_path, cli):
    file = tmp_path / "bytes.bin"
    file.write_bytes(bytes(range(256)) * 20)
    words = [*SMALL, f"dataset.file={file}", "dataset.unit=bytes", f"results_dir={tmp_path / 'results'}", "threads=1"]
    assert cli("run", *[word for word in words if word != "steps=120"], "steps=2")[0] == 0
    assert encode(BYTES, "a\udcff") == [97, 255]
    status, stdout, _ = cli("sample", tmp_path / "results", "--file", file, "--prompt", "a\udcff", "--length", "3")
    assert (status, stdout[:7]) == (0, r"a\udcff")
    with pytest.raises(UserError, match=r"^--prompt '\?': '\\ud800' is no character"):
        sample(tmp_path / "results", "\ud800", file=str(file))


def test_more_tokens_than_memory_holds_are_refused(learned, cli):
    run, file = learned
    for option in ("--texts", "--length"):
        status, stdout, stderr = cli("sample", run.path, "--file", file, option, "9" * 21)
        assert (status, stdout) == (2, "")
        assert re.match(r"^normexp: a sample of .* takes [\d,]+ GB, this machine has [\d,]+$", stderr.strip())


def test_a_last_update_that_was_one_too_many_leaves_a_run_without_a_sample(tmp_path, cli):
    file = tmp_path / "cats.txt"
    file.write_text(TEXT)
    words = [*(word for word in SMALL if not word.startswith("optim")), f"dataset.file={file}", "threads=1"]
    words = [word for word in words if word != "steps=120"]
    status, stdout, stderr = cli("run", *words, "optim=sgd", "optim.lr=1e38", "steps=1", f"results_dir={tmp_path}")
    assert (status, "sample (" in stdout) == (0, False)
    assert "diverged at step 1: the validation loss became nan" in stderr
    with pytest.raises(UserError, match="diverged, and such a run keeps no weights"):
        sample(tmp_path / "runs", file=str(file))


def test_a_run_with_a_scheme_of_somebodys_own_says_how_it_is_sampled(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "sampled_norms.py").write_text("from normexp.norms import LayerNorm as Mine\n")
    (tmp_path / "cats.txt").write_text(TEXT)
    words = [*(word for word in SMALL if word != "steps=120"), "dataset.file=cats.txt", "threads=1", "steps=2"]
    status, stdout, _ = cli("run", *words, "norm=sampled_norms.Mine", "plugins=[sampled_norms]", "results_dir=-r")
    more = re.search(r"^sample \(normexp sample (.*) writes more\):$", stdout, re.MULTILINE)
    assert (status, "./-r/runs/" in more[1], "'plugins=[sampled_norms]'" in more[1]) == (0, True, True)
    status, again, _ = cli("sample", *shlex.split(more[1]))
    assert (status, again.strip() in stdout) == (0, True)
    assert cli("sample", "./-r", "plugins=sampled_norms")[2].strip() == (
        "normexp: plugins=sampled_norms: must be a list of non-empty texts; did you mean 'plugins=[sampled_norms]'?"
    )
