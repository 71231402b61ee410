"""Runs become arms: what agrees, what it is called, what is left out and said."""

import pytest
import yaml
from fabricated import Fabric

from normexp.config import compose
from normexp.errors import UserError
from normexp.records import CONFIG, RunDirectory
from normexp.report.commands.runs import chosen_runs
from normexp.report.frames.options import run_options
from normexp.report.frames.reading import folder_frame, where
from normexp.report.notes import notes


def labels(runs: list[RunDirectory]) -> list[str]:
    return list(dict.fromkeys(folder_frame(runs).runs["arm"]))


def test_runs_that_differ_in_seed_and_place_alone_are_one_arm(fabricate: Fabric) -> None:
    runs = [
        fabricate(norm="batch"),
        fabricate(norm="batch", seed=1, results_dir="elsewhere", threads=4, eval_every=5),
        fabricate(norm="batch", seed=2, device="cuda", dataset__archive="/a/b.tar"),
    ]
    assert labels(runs) == ["batch"]
    assert list(folder_frame(runs).runs["seed"]) == [0, 1, 2]


def test_label_shows_the_keys_that_vary(fabricate: Fabric) -> None:
    assert labels([fabricate(norm="batch", epochs=3)]) == ["batch"]
    runs = [fabricate(norm="batch"), fabricate(norm="batch", optim__lr=0.3), fabricate(model="mlp")]
    assert labels(runs) == [
        "batch, optim.lr=0.1",
        "batch, optim.lr=0.3",
        "none",  # the only run of its model
    ]
    assert labels(runs[::2]) == ["batch", "none"]  # data set and model have columns of their own
    assert list(folder_frame(runs).runs["model"]) == ["cnn", "cnn", "mlp"]


def test_label_has_texts_with_commas_in_quotes(fabricate: Fabric) -> None:
    runs = [
        fabricate(dataset__target="height, cm", dataset__features=["clinic", "age, years"]),
        fabricate(dataset__target="weight", dataset__features=["clinic"]),
    ]
    assert labels(runs) == [
        'none, dataset.features=[clinic,"age, years"], dataset.target="height, cm"',
        "none, dataset.features=[clinic], dataset.target=weight",
    ]


def test_defaults_of_other_options_are_no_difference(fabricate: Fabric) -> None:
    """Batch norm has a momentum, layer norm has none, and adam's default rate is not sgd's."""
    assert labels([fabricate(norm="batch"), fabricate(norm="layer")]) == ["batch", "layer"]
    optims = [fabricate(optim="sgd"), fabricate(optim="adam")]
    assert labels(optims) == ["none, optim=adam", "none, optim=sgd"]


def test_a_changed_key_shows_beside_options_that_do_not_have_it(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch"), fabricate(norm="group", norm__num_groups=8)]
    assert labels(runs) == ["batch", "group, norm.num_groups=8"]


def test_what_moves_a_cursor_is_visible_in_a_label(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch", optim__lr=0.3), fabricate(norm="batch", optim__lr="\x1b[31m0.1\u202e")]
    assert labels(runs) == ["batch, optim.lr=0.3", "batch, optim.lr=\\x1b[31m0.1\\u202e"]


def recorded(run: RunDirectory, *overrides: str, without: tuple[str, ...] = ()) -> RunDirectory:
    """Give a run the record of a real configuration, without the keys that there were not yet."""
    record = yaml.safe_load(compose(overrides).to_yaml())
    for key in without:
        *above, last = key.split(".")
        tree = record
        for part in above:
            tree = tree[part]
        del tree[last]
    (run.path / CONFIG).write_text(yaml.safe_dump(record, sort_keys=False))
    return RunDirectory(run.path)


def test_a_key_that_was_not_there_yet_counts_as_its_default(fabricate: Fabric) -> None:
    new = recorded(fabricate(), "norm=batch")
    old = recorded(
        fabricate(), "norm=batch", "seed=1", without=("study", "_choices_.study", "clip_norm", "norm.affine")
    )
    assert labels([new, old]) == ["batch"]
    assert set(run_options(old)) >= {"study", "norm.affine"}
    clipped = recorded(fabricate(), "norm=batch", "clip_norm=1")
    assert labels([new, old, clipped]) == ["batch", "batch, clip_norm=1.0"]


def test_a_key_of_a_part_that_was_not_there_yet_counts_as_its_default(fabricate: Fabric) -> None:
    parts = ("norm=stack", "norm.weights=weight_standard", "norm.activations=group")
    key = next(key for key in compose(parts)["norm"]["activations"] if key != "_target_")
    old = recorded(fabricate(), *parts, "seed=1", without=(f"norm.activations.{key}",))
    assert len(labels([recorded(fabricate(), *parts), old])) == 1


def test_an_option_that_is_no_more_has_no_defaults(fabricate: Fabric) -> None:
    assert labels([fabricate(norm="vanished"), fabricate(norm="batch")]) == ["batch", "vanished"]


def test_order_is_by_scheme_then_by_number(fabricate: Fabric) -> None:
    for norm in ("zeta", "weight_mean_only", "group", "batch", "none", "alpha"):
        fabricate(norm=norm)
    runs = [fabricate(norm="layer", optim__lr=rate) for rate in (10.0, 2.0, 1e-05)]
    runs = [RunDirectory(path) for path in sorted(runs[0].path.parent.iterdir(), reverse=True)]
    found = [label.replace(", optim.lr=0.1", "") for label in labels(runs)]
    layers = [f"layer, optim.lr={rate}" for rate in (1e-05, 2.0, 10.0)]
    assert found == ["none", "batch", *layers, "group", "weight_mean_only", "alpha", "zeta"]


def test_a_lossy_copy_of_the_data_is_another_arm(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch"), fabricate(norm="batch", seed=1, note="CIFAR-10, JPEG copy")]
    assert labels(runs) == ["batch", "batch, data=CIFAR-10, JPEG copy"]


def test_a_note_on_data_that_go_by_their_file_is_no_part_of_the_label(fabricate: Fabric) -> None:
    runs = [fabricate(dataset__file="a.csv", note="when has '2020', taken as words"), fabricate(dataset__file="b.csv")]
    assert labels(runs) == ["none, dataset.file=a.csv", "none, dataset.file=b.csv"]


def test_files_of_one_name_are_told_apart_by_their_contents_whatever_is_said_of_their_data(fabricate: Fabric) -> None:
    same = {"dataset": "csv", "dataset__file": "h.csv", "dataset__target": "y", "norm": "none"}
    runs = [fabricate(**same, sha256="0123456789ab", note="3 missing"), fabricate(**same, sha256="cdef01234567")]
    assert labels(runs) == ["none, dataset.file=h.csv (01234567)", "none, dataset.file=h.csv (cdef0123)"]


def test_own_scheme_goes_by_its_class(fabricate: Fabric) -> None:
    run = fabricate(norm___target_="my_norms.MyNorm")
    assert labels([run, fabricate(norm="batch")]) == ["batch", "MyNorm"]


def test_own_schemes_of_one_name_go_by_as_much_of_their_modules_as_tells_them_apart(fabricate: Fabric) -> None:
    paths = ("my_norms.Scale", "her.norms.Scale", "deep.er.my_norms.Scale", "my_norms.batch", "my_norms.Other")
    runs = [fabricate(norm="batch"), *(fabricate(norm___target_=path) for path in paths)]
    names = ["batch", "Other", "er.my_norms.Scale", "my_norms.Scale", "my_norms.batch", "norms.Scale"]
    frame = folder_frame(runs)
    assert list(dict.fromkeys(frame.runs["arm"])) == names
    assert sorted(set(frame.keys(["norm"])["norm"])) == sorted(names)
    assert labels([record.directory for record in where(frame, {"norm": ["norms.Scale"]}).records]) == ["Scale"]
    assert len(where(frame, {"norm": ["Scale"]}).records) == 3


def test_a_part_of_a_stack_goes_by_its_option_or_class(fabricate: Fabric) -> None:
    def stack(activations: str, seed: int = 0) -> RunDirectory:
        plugins = f"plugins=[{activations.rpartition('.')[0]}]"
        given = ("norm=stack", "norm.weights=weight", f"norm.activations={activations}", f"seed={seed}")
        return recorded(fabricate(), *given, *([plugins] if "." in activations else []))

    batch = recorded(fabricate(), "norm=batch")
    assert labels([batch, stack("my_norms.Scale")]) == ["batch", "stack"]
    runs = [stack(name, seed) for name in ("group", "my_norms.Scale") for seed in (0, 1)]
    assert labels([batch, *runs]) == ["batch", "stack, norm.activations=Scale", "stack, norm.activations=group"]
    frame = folder_frame([*runs, stack("her.norms.Scale"), stack("layer")])
    names = ["layer", "group", "my_norms.Scale", "norms.Scale"]
    assert sorted(dict.fromkeys(frame.runs["arm"])) == [f"stack, norm.activations={name}" for name in sorted(names)]


def test_a_run_is_said_to_be_running_while_somebody_trains_it(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch"), fabricate(norm="batch", seed=1, status="running")]
    with runs[1].lock():
        assert "batch seed 1 (running" in notes(folder_frame(runs))[0]
    assert "batch seed 1 (stopped" in notes(folder_frame(runs))[0]


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_unfinished_runs_are_counted_and_named(fabricate: Fabric, status: str) -> None:
    runs = [fabricate(norm="batch"), fabricate(norm="batch", seed=1, status=status)]
    (note,) = notes(folder_frame(runs))
    assert "1 of 2 runs" in note
    assert f"batch seed 1 ({status}" in note


def test_diverged_runs_are_kept_and_named_with_their_step(fabricate: Fabric) -> None:
    runs = [fabricate(norm="none"), fabricate(norm="none", seed=1, status="diverged")]
    assert notes(folder_frame(runs)) == ["Diverged (non-finite loss): none seed 1 at step 37."]


def test_runs_of_one_arm_on_several_data_sets_are_told_apart_in_notes(fabricate: Fabric) -> None:
    runs = [fabricate(norm="none", dataset=name, status="diverged") for name in ("digits", "mnist")]
    runs += [fabricate(norm="none", dataset="digits", seed=1, status="failed")]
    diverged, unfinished = notes(folder_frame(runs))
    assert diverged.endswith("none, digits seed 0 at step 37; none, mnist seed 0 at step 37.")
    assert "none, digits seed 1 (failed" in unfinished


def test_the_same_seed_twice_counts_once_and_is_said(fabricate: Fabric) -> None:
    runs = [
        fabricate(name="b/x", norm="batch", seed=0),
        fabricate(name="a/y", norm="batch", seed=0),
        fabricate(name="a/x", norm="batch", seed=0, status="running"),
    ]
    assert list(folder_frame(runs).runs["run"]) == ["a/y"]
    assert notes(folder_frame(runs)) == [
        "batch seed 0 is there twice: a/y counts, b/x does not.",
        "batch seed 0 is there twice: a/y counts, a/x does not.",
    ]


def test_equal_options_on_different_data_are_said(fabricate: Fabric) -> None:
    runs = [fabricate(norm="batch"), fabricate(norm="layer", sha256="other")]
    assert notes(folder_frame(runs)) == ["Warning: not all runs on digits saw the same data (sha256 differs)."]
    seeded = [fabricate(norm="batch"), fabricate(norm="batch", seed=1, sha256="data drawn from the seed")]
    assert notes(folder_frame(seeded)) == []


def test_the_selection_does_not_depend_on_the_order_of_directories(fabricate: Fabric) -> None:
    runs = [fabricate(norm=norm, seed=seed) for norm in ("layer", "none") for seed in (1, 0)]
    backwards = folder_frame(runs[::-1]).runs
    assert list(dict.fromkeys(backwards["arm"])) == labels(runs) == ["none", "layer"]
    assert list(backwards["seed"]) == [0, 1, 0, 1]


def test_a_value_with_commas_is_a_filter_as_the_label_has_it(fabricate: Fabric) -> None:
    for target in ("a,b", "c"):
        fabricate(dataset__target=target, dataset__features=["d,e", "f"])
    results = str(fabricate.root)

    def chosen(value: str) -> set[object]:
        frame = chosen_runs([results, f"dataset.target={value}"], last=False)
        return {record.value("dataset.target") for record in frame.records}

    assert chosen('"a,b"') == {"a,b"}
    assert chosen('"a,b",c') == {"a,b", "c"}
    with pytest.raises(UserError, match=r'^dataset\.target="a,d" matches no run; there is dataset\.target="a,b",c$'):
        chosen('"a,d"')
