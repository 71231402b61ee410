"""One archive per experiment: deterministic, read like the folder, safely, and never the only copy of half a record."""

import io
import os
import random
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from killed import KILLED, run_until
from one_line import one_line_error

from normexp.errors import UserError
from normexp.records import CHECKPOINT, RunDirectory, find_runs, packing
from normexp.records.archive import open_archive, packed
from normexp.records.merging import merge
from normexp.records.packing import pack
from normexp.verify.records import verify_records


def told(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return everything that readers ask of the runs below a folder."""
    return {
        str(run.path.relative_to(folder.resolve())): (
            run.status,
            run.config,
            run.environment,
            run.rows("metrics.csv"),
            run.text("metrics.csv"),
            run.has("metrics.csv"),
            run.has("nothing.csv"),
            [name for name in run.names() if not name.startswith("checkpoint")],
        )
        for run in find_runs([folder])
    }


def test_archive_is_read_like_the_folder(experiment):
    before = told(experiment)
    done = pack(experiment)
    assert (done.runs, done.archives) == (5, [experiment / "records.zip"])
    assert [line.rpartition("/")[2] for line in done.left] == ["seed=2: interrupted"]
    assert told(experiment) == before
    assert sorted(path.name for path in (experiment / "runs/batch/seed=0").iterdir()) == ["checkpoint.safetensors"]


def test_an_archive_does_not_say_where_data_lay(experiment, tmp_path):
    run = RunDirectory(experiment / "runs" / "batch" / "seed=0")
    command, rest = run.text("config.yaml").split("\n", 1)
    typed = f"{command} 'dataset.archive=/home/somebody/my data/images.tar.gz' optim.lr=0.1 model.file=here/net.py"
    (run.path / "config.yaml").write_text(f"{typed}\n{rest}")
    run.finish(**{key: value for key, value in run.status.items() if key != "sha256"})
    pack(experiment)
    shorter = f"{command} dataset.archive=images.tar.gz optim.lr=0.1 model.file=here/net.py"
    assert RunDirectory(run.path).text("config.yaml") == f"{shorter}\n{rest}"
    with zipfile.ZipFile(experiment / "records.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    RunDirectory(tmp_path / "unpacked" / "runs" / "batch" / "seed=0").check_sums(without=[CHECKPOINT])
    before = (experiment / "records.zip").read_bytes()
    pack(experiment)
    assert (experiment / "records.zip").read_bytes() == before


def test_run_is_found_at_its_own_path_whether_packed_or_not(experiment):
    path = experiment / "runs" / "batch" / "seed=1"
    before = RunDirectory(path).status
    pack(experiment)
    run = RunDirectory(path)
    assert run.is_packed
    assert run.status == before
    for named in (path, experiment / "runs" / "batch", experiment / "runs", experiment / "records.zip"):
        assert path.resolve() in [each.path for each in find_runs([named])]
    assert len(find_runs([experiment / "runs" / "batch"])) == 2
    with pytest.raises(UserError, match="no such file"):
        find_runs([experiment / "runs" / "bat"])


def test_equal_records_give_equal_bytes(experiment, tmp_path):
    copy = shutil.copytree(experiment, tmp_path / "copy")
    for path in copy.rglob("*.json"):
        os.utime(path, (1, 1))
    pack(experiment)
    pack(copy)
    assert (experiment / "records.zip").read_bytes() == (copy / "records.zip").read_bytes()


def test_other_tools_unpack_and_check_it(experiment, tmp_path):
    files = {
        path.relative_to(experiment).as_posix(): path.read_bytes()
        for path in experiment.rglob("*")
        if path.is_file() and path.parent.name != "seed=2" and path.suffix != ".safetensors"
    }
    pack(experiment)
    with zipfile.ZipFile(experiment / "records.zip") as archive:
        archive.extractall(tmp_path / "out")
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=tmp_path / "out", check=True)
    (tmp_path / "out" / "SHA256SUMS").unlink()
    out = {p.relative_to(tmp_path / "out").as_posix(): p.read_bytes() for p in (tmp_path / "out").rglob("*.*")}
    assert {name: out[name] for name in files} == files


def test_folder_counts_before_the_archive_and_is_packed_over_it(experiment, make):
    pack(experiment)
    path = experiment / "runs" / "batch" / "seed=1"
    shutil.rmtree(path)
    make(path, loss=9.0)
    assert RunDirectory(path).rows("metrics.csv")[-1]["test/loss"] == "9.0"
    assert [run.path for run in find_runs([experiment])].count(path.resolve()) == 1
    done = pack(experiment)
    assert done.runs == 5
    assert RunDirectory(path).is_packed
    assert RunDirectory(path).rows("metrics.csv")[-1]["test/loss"] == "9.0"
    assert RunDirectory(path.with_name("seed=0")).rows("metrics.csv")[-1]["test/loss"] == "0.25"


def test_what_has_not_finished_anew_leaves_the_packed_run_in_the_archive(experiment, make):
    pack(experiment)
    path = experiment / "runs" / "batch" / "seed=1"
    shutil.rmtree(path)
    make(path, status="running")
    pack(experiment)
    assert RunDirectory(path).status["status"] == "running"
    shutil.rmtree(path)
    assert RunDirectory(path).status["status"] == "done"


def test_large_archives_are_one_per_arm(experiment, monkeypatch):
    before = told(experiment)
    pack(experiment)
    monkeypatch.setattr(packing, "LARGEST", (experiment / "records.zip").stat().st_size - 1)
    done = pack(experiment)
    assert [path.parent.relative_to(experiment).as_posix() for path in done.archives] == [
        "runs/batch",
        "runs/none",
        "select/batch",
    ]
    assert not (experiment / "records.zip").exists()
    assert told(experiment) == before
    assert RunDirectory(experiment / "runs" / "batch" / "seed=1").is_packed
    monkeypatch.undo()
    assert pack(experiment).archives == [experiment / "records.zip"]
    assert not list(experiment.glob("*/*/records.zip"))
    assert told(experiment) == before


def test_how_large_an_archive_is_its_file_says(experiment, monkeypatch):
    (archive,) = pack(experiment).archives
    monkeypatch.setattr(packing, "LARGEST", archive.stat().st_size)
    assert pack(experiment).archives == [archive]
    monkeypatch.setattr(packing, "LARGEST", archive.stat().st_size - 1)
    assert len(pack(experiment).archives) == 3


def test_an_arm_that_is_too_large_has_several(experiment, make, monkeypatch):
    before, arm = told(experiment), experiment / "runs" / "batch"
    monkeypatch.setattr(packing, "LARGEST", 1000)
    pack(experiment)
    parts = ["records.2.zip", "records.zip"]
    assert (sorted(path.name for path in arm.glob("*.zip")), told(experiment)) == (parts, before)
    assert [len(find_runs([arm / part])) for part in parts] == [1, 1]
    assert all(RunDirectory(arm / f"seed={seed}").is_packed for seed in (0, 1))
    make(arm / "seed=0.5", loss=9.0)  # between the two
    after = told(experiment)
    pack(experiment)
    assert (len(list(arm.glob("*.zip"))), told(experiment)) == (3, after)
    monkeypatch.undo()
    pack(experiment)
    assert ([*experiment.rglob("*.zip")], told(experiment)) == ([experiment / "records.zip"], after)


def assert_killed_packing_loses_nothing(experiment, tmp_path):
    """Kill the process that packs at every one of its operations on files; the next one packs what is left."""
    before = told(experiment)
    whole = shutil.copytree(experiment, tmp_path / "whole")
    status, operations = run_until(None, partial(pack, whole), whole)
    assert (status, operations > 10) == (0, True)
    for dies in range(operations):
        folder = shutil.copytree(experiment, tmp_path / f"killed {dies}")
        assert run_until(dies, partial(pack, folder), folder)[0] == KILLED
        assert told(folder) == before
        pack(folder)
        assert (told(folder), list(folder.rglob(".records*"))) == (before, [])


@pytest.mark.slow
def test_killed_while_packing_loses_nothing(experiment, tmp_path):
    assert_killed_packing_loses_nothing(experiment, tmp_path)


@pytest.mark.slow
def test_killed_while_runs_move_among_the_parts_of_an_arm_loses_nothing(experiment, make, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "LARGEST", 1000)
    pack(experiment)
    for name in ("seed=-1", "seed=-2", "seed=-3"):  # before those that are packed
        make(experiment / "runs" / "batch" / name)
    assert_killed_packing_loses_nothing(experiment, tmp_path)


def meanwhile(call: int, act: Callable[[], object], work: Callable[[], object]) -> tuple[object, int]:
    """Act at one of the calls with which `work` looks at files; return what it returned, and how many calls it made."""
    made, asleep = 0, False

    def watched(real: Callable[..., object]) -> Callable[..., object]:
        def watching(*args: object, **options: object) -> object:
            nonlocal made, asleep
            if not asleep:
                asleep, made = True, made + 1
                if made - 1 == call:
                    act()
                asleep = False
            return real(*args, **options)

        return watching

    with pytest.MonkeyPatch.context() as patched:
        for name in ("open", "scandir", "lstat"):
            patched.setattr(os, name, watched(getattr(os, name)))
        return work(), made


@pytest.mark.parametrize("packed_before", [False, True])
@pytest.mark.parametrize("growth", [0.5, pytest.param(0, marks=pytest.mark.slow)])
def test_what_is_packed_while_it_is_read_is_read_whole(experiment, make, tmp_path, monkeypatch, packed_before, growth):
    """Also where it moves from an archive of all to those of the arms: the reader loses none, whenever that is."""
    if packed_before:
        pack(experiment)
        make(experiment / "runs" / "none" / "seed=3")
        monkeypatch.setattr(packing, "LARGEST", (experiment / "records.zip").stat().st_size)
    before, call, made = told(experiment), 0, 1
    while call < made:
        folder = shutil.copytree(experiment, tmp_path / f"read {call}")
        found, made = meanwhile(call, partial(pack, folder), partial(told, folder))
        assert found == before, call
        call += 1 + int(growth * call)


def test_what_a_killed_process_left_half_written_is_deleted(experiment):
    half, other = experiment / ".records.zip.0a1b2c3d", experiment / ".settings.0a1b2c3d"
    for path in (half, other):
        path.write_text("half")
    pack(experiment)
    assert (half.exists(), other.exists()) == (False, True)


def test_nothing_finished_is_one_line(tmp_path, make):
    make(tmp_path / "runs" / "a", status="failed")
    with pytest.raises(UserError, match="no finished run to pack"):
        pack(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_damaged_run_is_left_and_named(experiment):
    path = experiment / "runs" / "batch" / "seed=1"
    (path / "metrics.csv").write_text("step,test/loss\n5,0.0\n")
    done = pack(experiment)
    assert done.runs == 4
    assert any("seed=1/metrics.csv: damaged" in line for line in done.left)
    assert (path / "metrics.csv").exists()


@pytest.mark.parametrize("part", ["data", "sums", "header", "directory", "end"])
def test_flipped_bits_are_found(experiment, part):
    pack(experiment)
    path = experiment / "records.zip"
    data = bytearray(path.read_bytes())
    at = {
        "data": data.index(b"0,1.0"),
        "sums": data.index(b"SHA256SUMS") + 20,
        "header": data.index(b"PK\x03\x04", 10),
        "directory": data.index(b"PK\x01\x02") + 50,
        "end": len(data) - 10,
    }[part]
    data[at] ^= 0x10
    path.write_bytes(data)
    found = []
    for run in find_runs([experiment]):
        try:
            told_of = run.status, run.config, run.environment, run.rows("metrics.csv")
            assert told_of
        except UserError as error:
            found.append(str(error))
    assert found
    assert all("records.zip: damaged" in line and "\n" not in line for line in found)


def test_any_flipped_bit_changes_nothing_or_is_found(experiment):
    """A wrong value is never read: of random flips, each is found or lies where nothing is read from."""
    pack(experiment)
    before, path = told(experiment), experiment / "records.zip"
    whole, rng = path.read_bytes(), random.Random(0)
    for _ in range(60):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            assert told(experiment) == before
        except UserError as error:
            assert "damaged" in str(error)  # noqa: PT017 (either is right)


def zipped(members: list[tuple[str, bytes]], mode: int = 0o100644, compress: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compress) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, compress
            archive.writestr(info, data)
    return out.getvalue()


def listed(name: str, data: bytes, **how: int) -> bytes:
    """Return an archive of one member, with its checksum."""
    return zipped([("SHA256SUMS", f"{sha256(data).hexdigest()}  {name}\n".encode()), (name, data)], **how)


HOSTILE = {
    "upwards": listed("../../out/status.json", b"{}"),
    "absolute": listed("/tmp/status.json", b"{}"),
    "backslash": listed("..\\status.json", b"{}"),
    "escapes": listed("\x1b]0;x\x07/status.json", b"{}"),
    "link": listed("a/status.json", b"/etc/passwd", mode=0o120777),
    "device": listed("a/status.json", b"", mode=0o020666),
    "bomb": listed("a/metrics.csv", b"0" * 10**7, compress=zipfile.ZIP_DEFLATED),
    "no sums": zipped([("a/status.json", b"{}")]),
    "without its sum": zipped([("SHA256SUMS", b""), ("a/status.json", b"{}")]),
    "hidden": listed(".a/b/status.json", b"{}"),
    "more than it has room for": listed("a/x", b"0" * 900).replace(b"\x84\x03", b"\xff\x0f"),
    "no zip": b"PK\x03\x04" * 100,
    "empty": b"",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archive_is_one_line(tmp_path, kind):
    (tmp_path / "records.zip").write_bytes(HOSTILE[kind])
    with pytest.raises(UserError, match=r"records\.zip: damaged \(") as caught:
        open_archive(tmp_path / "records.zip")
    assert str(caught.value).isprintable()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path):
    (tmp_path / "records.zip").write_bytes(zipped([("SHA256SUMS", b""), ("a/x", b"1"), ("a/x", b"2")]))
    with pytest.raises(UserError, match="two members of one name"):
        open_archive(tmp_path / "records.zip")


@pytest.mark.parametrize("members", [[], [("photo.jpg", b"...")]])
def test_somebody_elses_zip_file_of_this_name_is_passed_over(tmp_path, make, members):
    """Above the results it would stand in the place of every run; it is never written over, either."""
    others = tmp_path / "records.zip"
    others.write_bytes(data := zipped(members, compress=zipfile.ZIP_DEFLATED))
    sound = make(tmp_path / "results" / "runs" / "sound")
    assert RunDirectory(tmp_path / "results" / "runs" / "new").status == {"status": "new"}
    for path in (tmp_path, sound.path):
        assert [run.path for run in find_runs([path])] == [sound.path]
    for refused in (pack, partial(merge, sound.path, make(tmp_path / "other").path, others, ())):
        with one_line_error(r"records\.zip: is somebody else's, no archive of runs"):
            refused(tmp_path) if refused is pack else refused()
    assert others.read_bytes() == data


def test_damaged_archive_is_one_damaged_run(tmp_path, make):
    make(tmp_path / "runs" / "sound")
    (tmp_path / "records.zip").write_bytes(b"no archive")
    broken, sound = sorted(find_runs([tmp_path]), key=lambda run: run.path.name)
    assert sound.status["status"] == "done"
    with pytest.raises(UserError, match=r"records\.zip: damaged"):
        _ = broken.status


def test_link_in_the_place_of_an_archive_is_not_followed(experiment, tmp_path):
    pack(experiment)
    (experiment / "records.zip").rename(tmp_path / "elsewhere.zip")
    (experiment / "records.zip").symlink_to(tmp_path / "elsewhere.zip")
    with pytest.raises(UserError, match="it is a link"):
        open_archive(experiment / "records.zip")


def test_an_archive_behind_a_link_is_not_written_over(experiment, make, tmp_path, monkeypatch):
    """It would not be read before, and its runs would be lost."""
    monkeypatch.setattr(packing, "LARGEST", 1000)
    pack(experiment)
    (experiment / "runs" / "batch").rename(tmp_path / "disk")
    (experiment / "runs" / "batch").symlink_to(tmp_path / "disk")
    make(experiment / "runs" / "none" / "seed=3")
    before = (tmp_path / "disk" / "records.zip").read_bytes()
    with one_line_error(r"runs/batch: links are not followed; give the folder that it leads to, or move that here"):
        pack(experiment)
    assert (tmp_path / "disk" / "records.zip").read_bytes() == before


def test_run_inside_a_run_is_nobodys(tmp_path):
    contents = {f"{run}/status.json": b"{}" for run in ("a", "a/b/c", "a-b", "d/e")}
    (tmp_path / "records.zip").write_bytes(packed(contents))
    assert open_archive(tmp_path / "records.zip").runs() == ["a", "a-b", "d/e"]


def test_records_of_own_code_are_sound_and_counted_in_the_last_line(tmp_path, make):
    for name in ("a", "b", "c"):
        run, told = make(tmp_path / name), list[str]()
        if name != "c":
            config = (run.path / "config.yaml").read_text()
            (run.path / "config.yaml").write_text(config.replace("_changes_:", "_changes_:\n  plugins: [mine]"))
        run.finish("done", step=5, steps=5)
    assert verify_records(tmp_path, told.append) == 0
    own = "of 2, which name code of your own, it is not known whether today's defaults make the same run"
    assert told == [f"3 records: all sound; {own}"]


@pytest.mark.slow
def test_curves_that_are_too_large_for_a_table_are_sound_and_packed(tmp_path, make):
    run, told = make(tmp_path / "cpu" / "runs" / "run"), list[str]()
    row = f"0,percentiles,{'x' * 100_000},median,1.0\n"
    (run.path / "probes.csv").write_text("step,probe,layer,statistic,value\n" + row * 340)
    run.finish("done", step=5, steps=5)
    assert verify_records(tmp_path, told.append) == 0
    done = pack(tmp_path / "cpu")
    assert (done.runs, done.left) == (1, [])
    assert verify_records(tmp_path, told.append) == 0
    assert told == ["1 record: all sound"] * 2
    assert merge(tmp_path / "cpu", make(tmp_path / "other" / "run").path.parent, tmp_path / "both", ()).left == []


def test_what_no_archive_can_hold_is_refused_before_anything_is_written(experiment, monkeypatch):
    before = told(experiment)
    monkeypatch.setattr(packing, "READABLE", 1000)
    with one_line_error(r"records\.zip: too large to be read \([\d,]+ bytes, at most 1,000 are\)"):
        pack(experiment)
    assert not list(experiment.rglob("*.zip"))
    assert told(experiment) == before


def test_names_that_lead_out_are_never_packed():
    with pytest.raises(UserError, match="cannot be packed"):
        packed({"../status.json": b"{}"})


def test_archived_run_that_is_damaged_begins_again_in_the_folder(experiment):
    pack(experiment)
    path = experiment / "runs" / "batch" / "seed=1"
    archive = experiment / "records.zip"
    archive.write_bytes(archive.read_bytes().replace(b"5,1.25", b"5,9.25"))
    with pytest.raises(UserError, match="checksum"):
        RunDirectory(path).rows("metrics.csv")
    RunDirectory(path).set_aside()
    assert RunDirectory(path).status["status"] == "interrupted"
    assert RunDirectory(path.with_name("seed=0")).status["status"] == "done"
