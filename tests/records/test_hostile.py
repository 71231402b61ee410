"""A run directory that somebody else made: whatever lies in a file's place is one line that names the file.

Every case is read in a process of its own, a fork of one that has imported the program, with a stopwatch and a cap on
its memory: no hang, no crash of the interpreter, no gigabytes, no error but UserError.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from normexp.errors import UserError
from normexp.records import RunDirectory, find_runs
from normexp.records.files import open_regular, read_regular, sweep_temporaries, write_atomically

TEXTS = ("status.json", "config.yaml", "environment.json", "metrics.csv", "timing.csv", "probes.csv")
READ = """
import json, os, resource, signal, sys
from pathlib import Path
from normexp.errors import UserError
from normexp.records import find_runs
from normexp.records.files import damaged
def read(folder, name):
    resource.setrlimit(resource.RLIMIT_AS, (400 * 2**20, 400 * 2**20))
    signal.alarm(60)
    (run,) = find_runs([folder])
    try:
        run.names()
        if name == "status.json": run.status
        elif name == "config.yaml": run.config
        elif name == "environment.json": run.environment
        else: run.rows(name), run.text(name)
    except UserError as error:
        return str(error)
    return "read"
for folder, name in json.load(sys.stdin):
    out, into = os.pipe()
    if not (child := os.fork()):
        said = read(folder, name)
        os.write(into, said.encode()[:60_000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as said:
        print(json.dumps([said.read(), os.waitpid(child, 0)[1]]), flush=True)
"""


def bomb(levels: int = 9) -> bytes:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return ("_choices_: {}\nseed: 0\n" + "\n".join(lines) + "\n").encode()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30)


PLACES: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "directory": Path.mkdir,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to a file": lambda path: path.symlink_to("/etc/passwd"),
    "dangling link": lambda path: path.symlink_to("/nowhere"),
    "looping link": lambda path: path.symlink_to(path.name),
    "sparse": sparse,
    "not UTF-8": lambda path: path.write_bytes(b"step,loss\n\xff\xfe,1\n"),
}
CONTENTS: dict[str, dict[str, bytes]] = {
    "status.json": {
        "deep": b"[" * 100_000,
        "deep object": b'{"a":' * 100_000,
        "list": b"[]",
        "no status": b'{"step": 1}',
        "unknown status": b'{"status": "finished"}',
        "step is a text": b'{"status": "done", "step": "5"}',
        "steps a list": b'{"status": "running", "steps": [5]}',
        "attempts a text": b'{"status": "failed", "attempts": "x"}',
        "seconds infinite": b'{"status": "done", "seconds": Infinity}',
        "seconds a list": b'{"status": "done", "seconds": []}',
        "cause a list": b'{"status": "failed", "cause": [1]}',
        "cause of 2 MB": b'{"status": "failed", "cause": "' + b"x" * 2_000_000 + b'"}',
        "sums a list": b'{"status": "done", "sha256": []}',
        "sums no sums": b'{"status": "done", "sha256": {"metrics.csv": 5}}',
        "a number of 5,000 digits": b'{"status": "done", "step": ' + b"9" * 5000 + b"}",
    },
    "config.yaml": {
        "bomb": bomb(),
        "deep": b"[" * 50_000,
        "deep blocks": b"- " * 50_000 + b"x",
        "deep keys": b"".join(b" " * i + b"a:\n" for i in range(3000)),
        "recursive": b"&a [*a]",
        "code": b"a: !!python/object/apply:os.system [touch x]\n_choices_: {}",
        "odd constructor": b'_choices_: {}\nseed: !!int ""',
        "choices null": b"_choices_:\n",
        "choices a list": b"_choices_: [a]\n",
        "choices lead out": b"_choices_: {../../../tmp/x: name}\n",
        "a choice leads out": b"_choices_: {norm: ../../secret}\n",
        "a long choice": b"_choices_: {norm: " + b"x" * 2_000_000 + b"}\n",
        "changes a list": b"_choices_: {}\n_changes_: [1]\n",
        "changes a text": b"_choices_: {}\n_changes_: abc\n",
        "a change to a date": b"_choices_: {}\n_changes_: {a: 2020-01-01}\n",
        "a change to bytes": b"_choices_: {}\n_changes_: {a: [!!binary aaaa]}\n",
        "seed a text": b"_choices_: {}\nseed: abc\n",
        "seed null": b"_choices_: {}\nseed:\n",
        "seed infinite": b"_choices_: {}\nseed: .inf\n",
        "key is a number": b"_choices_: {}\n1: 2\n",
        "key with an escape": b'_choices_: {}\nmodel: {"\\e[31m": 2}\n',
        "many values": b"_choices_: {}\na:\n" + b"- 1\n" * 30_000,
    },
    "environment.json": {
        "deep": b"[" * 100_000,
        "data a text": b'{"data": "x"}',
        "data a list": b'{"data": []}',
        "data null": b'{"data": null}',
        "note a list": b'{"data": {"note": []}}',
        "commit a list": b'{"commit": []}',
    },
    "metrics.csv": {
        "a field of 200,000": b"step,loss\n0," + b"1" * 200_000 + b"\n",
        "100,000 columns": b",".join([b"a"] * 100_000) + b"\n",
        "no steps": b"epoch,loss\n0,1\n",
        "a step that is none": b"step,loss\nx,1\n",
        "a loss that is none": b"step,loss\n0,low\n",
        "a row cut short": b"step,loss,error\n0,1\n",
        "a cell too many": b"step,loss\n0,1,2\n",
        "a name with an escape": b"step,\x1b[31mloss" + b"x" * 1000 + b"\n0,low\n",
    },
    "timing.csv": {
        "no seconds": b"step,minutes\n0,1\n",
        "a row cut short": b"step,seconds\n0\n",
        "seconds a text": b"step,seconds\n0,soon\n",
    },
    "probes.csv": {
        "no layer": b"step,probe,statistic,value\n0,a,b,1\n",
        "a value that is none": b"step,probe,layer,statistic,value\n0,a,b,c,x\n",
    },
}


def read(cases: list[tuple[Path, str]]) -> list[str]:
    """Return what reading one file of each folder says."""
    given = json.dumps([(str(folder), name) for folder, name in cases])
    done = subprocess.run([sys.executable, "-c", READ], input=given, capture_output=True, text=True, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [status for _, status in said] == [0] * len(cases), (done.stderr[-500:], cases[len(said) :][:1], said[-1:])
    return [text for text, _ in said]


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_files_are_one_line_that_names_them(tmp_path, make, name):
    hostile = PLACES | {
        kind: lambda path, content=content: path.write_bytes(content)
        for kind, content in CONTENTS.get(name, {}).items()
    }
    for i, put in enumerate(hostile.values()):
        path = make(tmp_path / str(i) / "run", sums=False).path / name
        path.unlink(missing_ok=True)
        put(path)
    for i, said in enumerate(read([(tmp_path / str(i), name) for i in range(len(hostile))])):
        path, kind = tmp_path / str(i) / "run" / name, list(hostile)[i]
        what = "too large to be read" if kind in ("sparse", "deep keys") else "damaged"
        assert said.startswith(f"{path}: {what} ("), (kind, said)
        assert said.isprintable(), kind
        assert len(said) < 400 + len(str(path)), kind


def test_sound_files_are_read(tmp_path, make):
    make(tmp_path / "run")
    assert read([(tmp_path, name) for name in TEXTS[:4]]) == ["read"] * 4


@pytest.mark.parametrize("kind", ["fifo", "link to a device", "directory"])
def test_status_goes_on_beside_a_hostile_run(tmp_path, make, cli, kind):
    for name in ("sound", "hostile"):
        make(tmp_path / name, sums=False)
    (tmp_path / "hostile" / "status.json").unlink()
    PLACES[kind](tmp_path / "hostile" / "status.json")
    status, stdout, _ = cli("status", tmp_path)
    assert status == 0
    assert stdout.splitlines()[0] == "2 runs: 1 done, 1 damaged"


def test_escapes_in_records_are_made_visible(tmp_path, make, cli):
    run = make(tmp_path / "run", status="failed")
    (run.path / "status.json").write_text(json.dumps({"status": "failed", "cause": "\x1b]0;title\x07\r\u202eevil"}))
    _, stdout, _ = cli("status", tmp_path)
    assert all(line.isprintable() for line in stdout.splitlines())
    assert r"\x1b]0;title\x07\r\u202eevil" in stdout


@pytest.mark.parametrize("kind", ["fifo", "link to a file", "dangling link", "looping link", "directory"])
def test_nothing_is_written_through_what_lies_in_a_files_place(tmp_path, kind):
    path, precious = tmp_path / "metrics.csv", tmp_path / "precious"
    precious.write_text("precious")
    PLACES[kind](path) if kind != "link to a file" else path.symlink_to(precious)
    if kind == "directory":
        with pytest.raises(UserError, match=r"metrics\.csv: cannot be written \(Is a directory\)"):
            write_atomically(path, "rows")
    else:
        write_atomically(path, "rows")
        assert (path.is_symlink(), path.read_text()) == (False, "rows")
    assert precious.read_text() == "precious"
    assert not Path("/nowhere").exists()


def test_appending_never_follows_a_link(tmp_path):
    from normexp.records import CurveFile

    (tmp_path / "precious").write_text("precious")
    (tmp_path / "metrics.csv").symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="it is a link"):
        CurveFile(tmp_path / "metrics.csv", ["step"]).append({"step": 1})
    assert (tmp_path / "precious").read_text() == "precious"


def test_missing_file_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing", 10)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
def test_records_are_utf8_in_every_locale(tmp_path, make, locale):
    run = make(tmp_path / "run", sums=False)
    (run.path / "config.yaml").write_text("seed: 0\nnote: €\n_choices_: {}\n", encoding="utf-8")
    (run.path / "metrics.csv").write_text("step,preis_€\n0,1\n", encoding="utf-8")
    code = "import sys; from normexp.records import find_runs; r, = find_runs(sys.argv[1:]); "
    code += "print(ascii((r.config['note'], r.rows('metrics.csv'))))"
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    out = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, env=environment)
    assert out.stdout == ascii(("€", [{"step": "0", "preis_€": "1"}])) + "\n", out.stderr


@pytest.mark.parametrize("name", ["config.yaml", "status.json", "environment.json", "metrics.csv"])
def test_a_file_that_an_editor_saved_with_a_byte_order_mark_is_read(tmp_path, make, name):
    run = make(tmp_path / "run", sums=False)
    plain = (run.config, run.status, run.environment, run.rows("metrics.csv"))
    (run.path / name).write_bytes(b"\xef\xbb\xbf" + (run.path / name).read_bytes())
    marked = RunDirectory(run.path)
    assert (marked.config, marked.status, marked.environment, marked.rows("metrics.csv")) == plain


def test_next_holder_of_the_lock_clears_temporary_files(tmp_path, make):
    run = make(tmp_path / "run")
    for name in (".checkpoint.safetensors.ab12cd_9", ".status.json.zzzzzzzz"):
        (run.path / name).write_text("half")
    (run.path / ".config.yaml.linklink").symlink_to(tmp_path)
    (run.path / ".keep").write_text("a user's own")
    with run.lock():
        assert sorted(path.name for path in run.path.glob(".*")) == [".config.yaml.linklink", ".keep", ".lock"]
    (run.path / ".young.ab12cd_9").write_text("half")
    sweep_temporaries(run.path, older=3600)
    assert (run.path / ".young.ab12cd_9").exists()


def test_a_temporary_file_that_is_renamed_while_they_are_looked_at_is_nobody_s_loss(tmp_path, monkeypatch):
    (tmp_path / ".records.zip.ab12cd_9").write_text("whole")
    scandir = os.scandir

    @contextmanager
    def then_renamed(folder):
        with scandir(folder) as entries:
            found = list(entries)
        (tmp_path / ".records.zip.ab12cd_9").rename(tmp_path / "records.zip")
        yield found

    monkeypatch.setattr(os, "scandir", then_renamed)
    sweep_temporaries(tmp_path, older=3600)
    assert (tmp_path / "records.zip").exists()


def test_finished_run_knows_its_files_again(tmp_path, make):
    run = make(tmp_path / "run")
    assert set(run.status["sha256"]) == {"checkpoint.safetensors", "config.yaml", "environment.json", "metrics.csv"}
    run.check_sums()
    (run.path / "checkpoint.safetensors").write_bytes(b"weighty")
    run.check_sums(without=["checkpoint.safetensors"])
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: damaged .*checksum"):
        run.check_sums()
    (run.path / "metrics.csv").write_text("step,test/loss\n5,0.0\n")
    for read_again in (RunDirectory(run.path), *find_runs([tmp_path])):
        with pytest.raises(UserError, match=r"metrics\.csv: damaged .*checksum"):
            read_again.rows("metrics.csv")
    (run.path / "metrics.csv").unlink()
    with pytest.raises(UserError, match=r"metrics\.csv: damaged \(it is missing"):
        run.check_sums(without=["checkpoint.safetensors"])


CLAIMS = {"experiment": "ioffe2015_figure1", "scale": "cpu", "command": "normexp", "changed": [], "claims": []}
CLAIM = dict.fromkeys(("text", "source", "place", "kind", "verdict", "evidence"), "x")
CLAIM |= {"remarks": [], "changed": [], "n": 1, "estimate": 1.0, "interval": None, "p": None, "kind": "scaled"}


@pytest.mark.parametrize(
    "content",
    ["", "[", "[]", "[" * 100_000, "{}", {**CLAIMS, "claims": {}}, {**CLAIMS, "claims": [1]}, {**CLAIMS, "scale": 1},
     {**CLAIMS, "claims": [{**CLAIM, "text": None}]}, {**CLAIMS, "claims": [{**CLAIM, "n": "x"}]},
     {**CLAIMS, "claims": [{**CLAIM, "targets": 7}]}, {**CLAIMS, "claims": [{**CLAIM, "p": []}]}],
)  # fmt: skip
def test_claims_of_another_form_are_one_line(results, cli, content):
    path = results / "ioffe2015_figure1" / "cpu" / "claims.json"
    path.parent.mkdir(parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    status, _, stderr = cli("claims", f"results_dir={results}")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "claims.json: damaged (" in stderr


def test_escapes_in_claims_are_made_visible(results, cli):
    path = results / "ioffe2015_figure1" / "cpu" / "claims.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**CLAIMS, "claims": [{**CLAIM, "text": "a\x1b]0;t\x07\r\n## b"}]}))
    status, stdout, stderr = cli("claims", f"results_dir={results}")
    assert status == 0, stderr
    assert r"a\\x1b]0;t\\x07\\r\\n## b" in stdout  # of a backslash that Markdown shows
    assert "\x1b" not in stdout


@pytest.mark.slow
def test_names_that_are_no_text_are_written_as_escapes(tmp_path, make, cli):
    make(tmp_path / "runs" / "one")
    os.rename(tmp_path / "runs" / "one", os.fsencode(tmp_path / "runs") + b"/\xffone")
    make(tmp_path / "runs" / "two")
    assert cli("plot", tmp_path, "--out", tmp_path / "out")[0] == 0
    assert "\\udcffone" in (tmp_path / "out" / "curves.md").read_text()
    assert cli("report", tmp_path)[0] == 0


def test_checksums_of_a_file_with_holes_take_neither_memory_nor_time(tmp_path, make):
    run = make(tmp_path / "run")
    os.truncate(run.path / "metrics.csv", 2**35)
    with pytest.raises(UserError, match=r"metrics.csv: too large to be read .34,359,738,368 bytes, at most"):
        run.check_sums()
