"""The records of two machines become one set; what contradicts is refused before anything is written."""

import errno
import json
import os
import shutil
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from killed import KILLED, run_until
from one_line import one_line_error

from normexp.cli.verbs import main
from normexp.errors import Busy, UserError
from normexp.records import CHECKPOINT, RunDirectory, exchange, find_runs, merging
from normexp.records import files as files_read
from normexp.records.locks import locked
from normexp.records.merging import merge
from normexp.records.packing import pack
from normexp.records.sources import Folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != ".lock"}


@pytest.fixture
def machines(tmp_path, make) -> tuple[Path, Path]:
    """Two results folders that share one run; each has one of its own, and one has what the other has not finished."""
    one, two = tmp_path / "one", tmp_path / "two"
    make(one / "runs" / "shared")
    shutil.copytree(one / "runs" / "shared", two / "runs" / "shared")
    make(one / "runs" / "mine")
    make(two / "runs" / "yours", loss=0.75)
    make(one / "runs" / "open", status="interrupted")
    make(two / "runs" / "open")
    return one, two


def statuses(folder: Path) -> dict[str, str]:
    return {run.path.name: run.status["status"] for run in find_runs([folder])}


ALL = {"shared": "done", "mine": "done", "yours": "done", "open": "done"}


def test_merge_into_the_first(machines):
    one, two = machines
    before = files(two)
    done = merge(one, two, None, ())
    assert (done.copied, done.there, done.left) == (2, 2, [])
    assert statuses(one) == ALL
    assert files(two) == before
    assert (one / "runs" / "open.damaged-1").is_dir()  # what was further elsewhere is kept beside
    again = merge(one, two, None, ())
    assert (again.copied, again.there) == (0, 4)


@pytest.mark.parametrize("packed", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("into", ["three", "three.zip"])
def test_merge_folders_and_archives(machines, tmp_path, packed, into):
    for index in packed:
        pack(machines[index])
    merge(*machines, tmp_path / into, ())
    assert statuses(tmp_path / into) == ALL
    rows = {run.path.name: run.rows("metrics.csv")[-1]["test/loss"] for run in find_runs([tmp_path / into])}
    assert rows == {"shared": "0.5", "mine": "0.5", "yours": "0.75", "open": "0.5"}


@pytest.mark.parametrize("into", ["three", "three.zip"])
def test_two_merges_into_one_place_are_not_at_once(machines, tmp_path, into):
    """Who reads what is there while another writes it would write the other's runs away."""
    target = tmp_path / "new" / into
    target.parent.mkdir()
    merge(machines[0], machines[1], target, ())
    with locked(target.parent if target.suffix else target):
        before = files(target.parent)
        with pytest.raises(Busy, match="another normexp process"):
            merge(*machines, target, ())
    assert files(target.parent) == before
    merge(*machines, target, ())
    assert not [each for each in (target.parent, target) if (each / ".lock").exists()]


@pytest.mark.parametrize("file", ["metrics.csv", "config.yaml"])
def test_contradictions_are_named_and_nothing_is_written(machines, tmp_path, file):
    one, two = machines
    path = two / "runs" / "shared"
    text = {"metrics.csv": "step,test/loss\n0,1.0\n5,0.5000001\n", "config.yaml": "seed: 1\n_choices_: {}\n"}[file]
    (path / file).write_text(text)
    status = RunDirectory(path).status
    RunDirectory(path).write_status(**{key: value for key, value in status.items() if key != "sha256"})
    before = files(one)
    with pytest.raises(UserError, match=r"^contradicts: runs/shared: .* have different (results|configurations)"):
        merge(one, two, None, ())
    with pytest.raises(UserError, match="contradicts"):
        merge(one, two, tmp_path / "three", ())
    assert files(one) == before
    assert not (tmp_path / "three").exists()


def test_keys_of_the_machine_may_differ(machines):
    one, two = machines
    path = two / "runs" / "shared"
    text = (path / "config.yaml").read_text()
    (path / "config.yaml").write_text(f"threads: 7\n{text}  threads: 7\n")
    RunDirectory(path).write_status("done", step=5, steps=5)
    with pytest.raises(UserError, match="contradicts"):
        merge(one, two, None, ())
    assert merge(one, two, None, ("threads",)).copied == 2


@pytest.mark.parametrize("file", ["status.json", "config.yaml", "checkpoint.safetensors"])
def test_damaged_runs_are_left_out_and_named(machines, file):
    """What is sound is merged, also where it is damaged in the folder that it comes to."""
    one, two = machines
    for run in (two / "runs" / "yours", one / "runs" / "shared"):
        (run / file).write_text("{")
    done = merge(one, two, None, ())
    named = [line.partition(f"/{file}: damaged")[0].rpartition("/")[2] for line in done.left]
    assert named == ["shared", "yours"]
    assert statuses(one) == dict.fromkeys(("shared", "mine", "open"), "done")
    assert (one / "runs" / "shared" / file).read_bytes() == (two / "runs" / "shared" / file).read_bytes()
    assert (one / "runs" / "shared.damaged-1" / file).read_text() == "{"


def broken(path: Path, how: str) -> None:
    """Make a record one that its checksums do not give away: there are none, or the file is not among them."""
    run, config = RunDirectory(path), path / "config.yaml"
    run.write_status("done" if how.startswith("done") else "interrupted", step=5, steps=5)
    if how == "empty":
        config.write_text("")
    elif how == "cut off":
        config.write_text(config.read_text()[:-9] + "{")
    elif how == "done without metrics.csv":
        (path / "metrics.csv").unlink()
    elif how == "done with a linked metrics.csv":
        (path / "metrics.csv").rename(path / "elsewhere.csv")
        (path / "metrics.csv").symlink_to("elsewhere.csv")
    else:
        config.unlink()


@pytest.mark.parametrize(("order", "into"), [((0, 1), "first"), ((0, 1), "three.zip"), ((1, 0), "three")])
@pytest.mark.parametrize(
    "how", ["empty", "cut off", "missing", "done", "done without metrics.csv", "done with a linked metrics.csv"]
)
def test_the_sound_record_of_a_run_counts_whatever_the_other_lacks(machines, tmp_path, how, order, into):
    """The broken one was copied, and the sound one dropped."""
    broken(machines[0] / "runs" / "shared", how)
    sources = [machines[index] for index in order]
    target = sources[0] if into == "first" else tmp_path / into
    done = merge(*sources, None if into == "first" else target, ())
    file = "metrics.csv" if how.endswith("metrics.csv") else "config.yaml"
    (line,) = done.left
    assert line.startswith(f"{machines[0]}/runs/shared/{file}: damaged")
    assert statuses(target) == ALL
    shared = next(run for run in find_runs([target]) if run.path.name == "shared")
    assert shared.read("metrics.csv") == RunDirectory(machines[1] / "runs" / "shared").read("metrics.csv")
    assert shared.config


def test_a_record_without_configuration_is_left_out_and_named(machines, tmp_path):
    broken(machines[0] / "runs" / "mine", "missing")
    (line,) = merge(*machines, tmp_path / "three", ()).left
    assert line == f"{machines[0]}/runs/mine/config.yaml: damaged or missing (no such file)"


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("below", ["", "/both.zip", "/records.zip"])
def test_a_link_that_loops_is_named(machines, tmp_path, place, below):
    """It was Python's error, without a word on which path."""
    (tmp_path / "loop").symlink_to("loop")
    paths = [*machines, tmp_path / "three"]
    paths[place] = Path(f"{tmp_path}/loop{below}")
    with one_line_error(f"{paths[place]}: (cannot be read|no such file or folder)"):
        merge(*paths, ())


@pytest.mark.parametrize("name", ["both.ZIP", "both.tar.gz", "both.Tgz"])
def test_a_folder_is_not_named_like_an_archive(machines, tmp_path, name):
    with one_line_error(f"{tmp_path}/{name}: the name of an archive ends in .zip; .* --into {tmp_path}/both.zip?"):
        merge(*machines, tmp_path / name, ())
    (tmp_path / name).mkdir()
    assert merge(*machines, tmp_path / name, ()).copied == 4


def test_status_0_means_that_nothing_is_missing(machines, capsys):
    one, two = machines
    three = one.parent / "three"
    assert main(["merge", str(one), str(two)]) == 0
    for run in find_runs([two]):
        (run.path / "status.json").write_text("{")
    assert main(["merge", str(one), str(two), "--into", str(three)]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" damaged")[0] for line in told if "left out" in line] == [
        f"normexp: left out: {two}/runs/{name}/status.json:" for name in ("open", "shared", "yours")
    ]
    assert statuses(three) == ALL


def test_archive_that_a_killed_merge_left_half_written_is_deleted_after_an_hour(machines, tmp_path):
    old, young = tmp_path / ".both.zip.0a1b2c3d", tmp_path / ".both.zip.4e5f6a7b"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (0, 0))
    merge(*machines, tmp_path / "both.zip", ())
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.slow
def test_killed_merge_loses_nothing_and_the_next_ends_it(machines, tmp_path):
    whole = shutil.copytree(machines[0], tmp_path / "whole")
    status, operations = run_until(None, partial(merge, whole, machines[1], None, ()), whole)
    assert (status, operations > 10) == (0, True)
    for dies in range(operations):
        one = shutil.copytree(machines[0], tmp_path / f"one{dies}")
        before = statuses(one)
        assert run_until(dies, partial(merge, one, machines[1], None, ()), one)[0] == KILLED
        now = statuses(one)
        assert all(now.get(name) in (status, "done") or name == "open" for name, status in before.items())
        merge(one, machines[1], None, ())
        assert statuses(one) == ALL
        assert not list(one.rglob(".merge-*"))


@pytest.mark.skipif(sys.platform != "linux", reason="no system call that exchanges two names")
def test_whoever_looks_finds_the_run_at_every_moment(machines, monkeypatch):
    """Between two renames it was nowhere."""
    one, two = machines
    rename, seen = Path.rename, []

    def then_looked(path, target):
        renamed = rename(path, target)
        seen.append(statuses(one).get("open"))
        return renamed

    monkeypatch.setattr(Path, "rename", then_looked)
    merge(one, two, None, ())
    assert set(seen) == {"interrupted", "done"}
    assert statuses(one) == ALL


def test_where_folders_cannot_be_exchanged_in_one_step_the_end_is_the_same(machines, monkeypatch):
    one, two = machines
    monkeypatch.setattr(exchange, "_in_one_step", lambda *folders: False)
    merge(one, two, None, ())
    assert statuses(one) == ALL
    assert RunDirectory(one / "runs" / "open.damaged-1").status["status"] == "interrupted"
    assert len(list((one / "runs").glob("open*"))) == 2


@pytest.mark.parametrize("weights", [True, False])
def test_what_comes_out_of_an_archive_is_whole(machines, tmp_path, weights):
    """Its weights come along where they still lie beside the archive; a record is none the worse without them."""
    three = tmp_path / "three"
    pack(machines[0])
    if not weights:
        (machines[0] / "runs" / "mine" / CHECKPOINT).unlink()
    merge(*machines, three, ())
    assert (three / "runs" / "mine" / CHECKPOINT).exists() == weights
    again = merge(*machines, three, ())
    assert (again.copied, again.there, again.left) == (0, 4, [])


def test_weights_of_another_run_beside_an_archive_stay_where_they_are(machines, tmp_path):
    pack(machines[0])
    (machines[0] / "runs" / "mine" / CHECKPOINT).write_bytes(b"others")
    merge(*machines, tmp_path / "three", ())
    assert not (tmp_path / "three" / "runs" / "mine" / CHECKPOINT).exists()


def test_a_damaged_archive_above_a_folder_is_left_out_and_named(machines, tmp_path):
    (machines[0] / "records.zip").write_text("version https://git-lfs.github.com/spec/v1\n")
    done = merge(machines[0] / "runs", machines[1] / "runs", tmp_path / "three", ())
    assert done.copied == 4
    (line,) = done.left
    assert line.startswith(f"{machines[0]}/records.zip: damaged (")


@pytest.mark.parametrize("into", ["merged", "deep/merged", "merged/records.zip"])
def test_the_place_lies_in_neither_source(machines, into):
    """Its runs would be those of the source as well, and the same command would copy them once more."""
    for source in machines:
        before = files(source)
        with one_line_error(f"{source}/{into}: lies inside {source}"):
            merge(*machines, source / into, ())
        assert files(source) == before


@pytest.mark.parametrize("place", ["first", "second", "target", "dangling"])
def test_what_lies_behind_a_link_is_never_taken_for_missing(machines, tmp_path, make, place):
    """Its finished runs would be replaced, unread, by those of the other side."""
    three = tmp_path / "three"
    make(tmp_path / "disk" / "shared", loss=0.9)
    folder = {"first": machines[0], "second": machines[1]}.get(place, three)
    folder.mkdir(exist_ok=True)
    (folder / "linked").symlink_to(tmp_path / "nowhere" if place == "dangling" else tmp_path / "disk")
    before = files(tmp_path)
    with one_line_error(f"{folder}/linked: links are not followed; give the folder that it leads to, or move"):
        merge(*machines, three, ())
    assert files(tmp_path) == before


def test_the_folders_themselves_may_be_links(machines, tmp_path):
    places = [tmp_path / "first", tmp_path / "second", tmp_path / "target"]
    (tmp_path / "three").mkdir()
    for place, folder in zip(places, (*machines, tmp_path / "three"), strict=True):
        place.symlink_to(folder)
    assert merge(*places, ()).copied == 4
    assert statuses(tmp_path / "three") == ALL


def test_what_cannot_be_read_is_never_taken_for_missing(machines, monkeypatch):
    scandir = os.scandir

    def failing(path):
        if str(path) == str(machines[0] / "runs"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return scandir(path)

    shutil.copytree(machines[0] / "runs" / "mine", machines[0] / "other" / "run")
    monkeypatch.setattr(os, "scandir", failing)
    with one_line_error(f"{machines[0]}/runs: cannot be read .Input/output error"):
        merge(*machines, None, ())
    assert not (machines[0] / "runs" / "open.damaged-1").exists()


def test_the_folder_may_be_there_without_runs(machines, tmp_path):
    """As a merge leaves it that was killed before its first run."""
    three = tmp_path / "three"
    three.mkdir()
    assert merge(*machines, three, ()).copied == 4
    assert statuses(three) == ALL


def test_a_run_that_ends_while_it_is_copied_is_copied_as_it_ended(machines, tmp_path, monkeypatch):
    going_on, read = machines[0] / "runs" / "open", Folder.read
    shutil.rmtree(machines[1] / "runs" / "open")

    def reading(folder: Folder, name: str, most: int) -> bytes:
        data = read(folder, name, most)
        if folder.path == going_on and name == "metrics.csv" and b"\n9," not in data:
            (going_on / name).write_bytes(data + b"9,0.25\n")
            RunDirectory(going_on).finish("done", step=9, steps=9)
        return data

    monkeypatch.setattr(Folder, "read", reading)
    merge(*machines, tmp_path / "three", ())
    copy = RunDirectory(tmp_path / "three" / "runs" / "open")
    copy.check_sums()
    assert (copy.status["step"], copy.rows("metrics.csv")[-1]["step"]) == (9, "9")


def test_small_files_are_read_once(machines, tmp_path, monkeypatch):
    """To be compared and to be copied; whether a run has changed meanwhile its status tells, which is read again."""
    seen, opening = Counter[Path](), files_read.open_regular

    def opened(path: Path, *flags: int) -> int:
        seen[path] += 1
        return opening(path, *flags)

    monkeypatch.setattr(files_read, "open_regular", opened)
    shutil.rmtree(machines[0] / "runs" / "open")
    shutil.rmtree(machines[1] / "runs" / "open")
    for into in (tmp_path / "three", None):
        seen.clear()
        merge(*machines, into, ())
        read = {path.name: count for path, count in seen.items() if machines[0] in path.parents}
        assert {read[name] for name in ("config.yaml", "environment.json", "metrics.csv")} == {1}


@pytest.mark.parametrize("into", ["x" * 300, "/".join(["x" * 200] * 30), f"{'x' * 248}.zip", "deep"])
def test_a_target_whose_name_is_too_long_is_named_as_it_was_typed(machines, tmp_path, into):
    folder = tmp_path
    while into == "deep" and len(str(folder)) < 4000:
        folder /= "x" * min(200, 4080 - len(str(folder)))
    target = folder / (into.replace("deep", "y"))
    with one_line_error(rf"^{str(target)[:50]}.*\(File name too long\)"):
        merge(*machines, target, ())
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one", "two"]


# --- what lies beside the runs


def declare(folder: Path, **record: object) -> bytes:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "frozen.json").write_text(json.dumps({"date": "2026-01-02", "declared": {"seeds": [0]}, **record}))
    return (folder / "frozen.json").read_bytes()


@pytest.mark.parametrize("into", [None, "three"])
@pytest.mark.parametrize("name", ["frozen.json", "chosen.json", "optuna.journal"])
def test_what_one_machine_has_beside_its_runs_comes_along(machines, tmp_path, name, into):
    (machines[1] / name).write_text("{}")
    target = tmp_path / into if into else machines[0]
    assert not merge(*machines, tmp_path / into if into else None, ()).left
    assert (target / name).read_text() == "{}"


def test_the_earlier_of_two_equal_declarations_counts_and_one_that_was_late(machines, tmp_path):
    one, two = (machine / "runs" for machine in machines)
    declare(one)
    early = declare(two, date="2026-01-01")
    merge(*machines, tmp_path / "three", ())
    assert (tmp_path / "three" / "runs" / "frozen.json").read_bytes() == early
    late = declare(one, runs=3)
    merge(*machines, tmp_path / "four", ())
    assert (tmp_path / "four" / "runs" / "frozen.json").read_bytes() == late


def test_runs_that_were_taken_for_either_and_are_there_are_named(machines, tmp_path, make):
    one, two = (machine / "runs" for machine in machines)
    make(one / "runs" / "a" / "seed=0")
    make(two / "runs" / "b" / "seed=0")
    declare(one, taken={"runs/a/seed=0": "old/a", "runs/b/seed=0": "not copied"})
    declare(two, date="2026-01-01", taken={"runs/b/seed=0": "old/b"}, sha256="0")
    merge(*machines, tmp_path / "three", ())
    record = json.loads((tmp_path / "three" / "runs" / "frozen.json").read_bytes())
    assert record["taken"] == {"runs/a/seed=0": "old/a", "runs/b/seed=0": "old/b"}
    assert (record["date"], list(record)[-1]) == ("2026-01-01", "declared")


def test_a_record_that_names_no_runs_as_taken_is_left_out(machines, tmp_path):
    one, two = (machine / "runs" for machine in machines)
    declare(one)
    declare(two, taken=["a"])
    (line,) = merge(*machines, tmp_path / "three", ()).left
    assert "its taken does not name runs" in line


def test_two_declarations_contradict(machines, tmp_path):
    declare(machines[0])
    declare(machines[1], declared={"seeds": [1]})
    with pytest.raises(UserError, match=r"^contradicts: frozen.json: .* declare different things; remove the one"):
        merge(*machines, tmp_path / "three", ())
    assert not (tmp_path / "three").exists()


def test_what_cannot_come_along_is_named(machines, tmp_path):
    for machine in machines:
        (machine / "chosen.json").write_text(f'{{"of": "{machine.name}"}}')
    (line,) = merge(*machines, tmp_path / "three", ()).left
    assert "chosen.json: not the same" in line
    declare(machines[0])
    assert "frozen.json: only a folder can take it" in merge(*machines, tmp_path / "three.zip", ()).left


def test_an_archive_may_have_any_name(machines, tmp_path, cli):
    merge(*machines, tmp_path / "both.zip", ())
    assert cli("verify", "records", str(tmp_path / "both.zip"))[0] == 0
    run = next(iter(find_runs([tmp_path / "both.zip"])))
    assert [each.path for each in find_runs([run.path])] == [run.path]
    assert RunDirectory(run.path).rows("metrics.csv")


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_of_two_unfinished_runs_the_one_that_is_further_counts(tmp_path, order):
    for place, step in (("one", 3), ("two", 5)):
        run = RunDirectory(tmp_path / place / "runs" / "open")
        run.path.mkdir(parents=True)
        (run.path / "config.yaml").write_text("seed: 0\n_choices_: {}\n_changes_: {}\n")
        (run.path / "metrics.csv").write_text("step,test/loss\n0,1.0\n")
        run.write_status("interrupted", step=step, steps=9)
    merge(*(tmp_path / each for each in order), tmp_path / "three", ())
    assert RunDirectory(tmp_path / "three" / "runs" / "open").status["step"] == 5


def meanwhile(monkeypatch, happen):
    """Let something happen once a merge has looked at what is there, before it copies its first run."""
    making = merging.make_folder

    def made(folder):
        monkeypatch.setattr(merging, "make_folder", making)
        happen()
        making(folder)

    monkeypatch.setattr(merging, "make_folder", made)


def test_a_run_that_appears_while_others_are_copied_stays_if_it_counts(machines, make, monkeypatch):
    """It was set aside as if it were damaged."""
    appeared = machines[0] / "runs" / "yours"
    meanwhile(monkeypatch, lambda: make(appeared, loss=0.75).path.joinpath("figure.png").touch())
    done = merge(*machines, None, ())
    assert (done.copied, done.there) == (1, 3)
    assert (appeared / "figure.png").exists()
    assert sorted(path.name for path in appeared.parent.iterdir()) == [
        "mine",
        "open",
        "open.damaged-1",
        "shared",
        "yours",
    ]


def test_a_run_that_appears_with_other_results_contradicts(machines, make, monkeypatch):
    appeared = machines[0] / "runs" / "yours"
    meanwhile(monkeypatch, lambda: make(appeared, loss=0.5))
    with one_line_error(r"contradicts: .*one/runs/yours and .*two/runs/yours have different results"):
        merge(*machines, None, ())
    assert RunDirectory(appeared).rows("metrics.csv")[-1]["test/loss"] == "0.5"
    assert not list(machines[0].rglob(".merge-*"))


def test_a_run_that_goes_on_while_others_are_copied_is_busy(machines, monkeypatch):
    """Its folder is made and held, and has no record yet."""
    appeared = machines[0] / "runs" / "yours"
    with ExitStack() as held:
        meanwhile(monkeypatch, lambda: (appeared.mkdir(), held.enter_context(locked(appeared))))
        with pytest.raises(Busy, match="another normexp process"):
            merge(*machines, None, ())
