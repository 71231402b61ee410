"""Runs, sweeps, studies and what comes after them on a GPU: as on a CPU, but for rounding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import normexp
from normexp.experiments.load import names, scales
from normexp.records import find_runs, read_rows

DEVICE = "cuda"
SMALL = ("dataset=digits", "dataset.subset=400", "batch_size=32", "steps=6", "eval_every=3", "threads=1", "recipe=none")
MAPS = ("model=cnn", "model.widths=[8,8]")
NETWORKS = {
    "mlp": "model=mlp",
    "cnn": "model=cnn",
    "inception": "model=inception_small model.width=0.125",
    "nin": "model=nin model.width=0.125",
    "resnet": "model=resnet_small model.width=0.5",
    "vit": "model=vit model.patch=2 model.width=16 model.layers=2 model.heads=2 norm=layer",
    "gpt": "model=gpt model.width=16 model.layers=2 model.heads=2 norm=rms "
    "dataset=text dataset.context=16 dataset.validation=200 dataset.test=200",
    "lstm": "model=lstm_classifier model.hidden=16 dataset=sequential_digits",
    "torchvision": "model=torchvision model.name=resnet18",
    "cnn1d": "model=cnn1d dataset=mnist1d",
    "linear": "model=linear",
}


def run(cli, results: Path, *words: str, device: str = DEVICE):
    """Train with the command line and return the run directory."""
    own_data = any(word.startswith("dataset=") for word in words)
    words = (*SMALL[2 * own_data :], f"device={device}", f"results_dir={results / device}", *words)
    status, stdout, stderr = cli("run", *words, "--quiet")
    assert status == 0, stderr
    (found,) = [each for each in find_runs([results / device]) if str(each.path) == stdout.splitlines()[-1]]
    assert found.status["status"] == "done"
    return found


def curves(directory) -> list[dict[str, float]]:
    return [
        {key: float(value) for key, value in row.items() if value} for row in read_rows(directory.path / "metrics.csv")
    ]


@pytest.mark.parametrize("network", NETWORKS)
def test_gpu_trains_every_network_as_a_cpu_does(cli, tmp_path, undrawn, network):
    words = NETWORKS[network].split()
    found, expected = (curves(run(cli, tmp_path, *words, "optim.lr=0.001", device=each)) for each in (DEVICE, "cpu"))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=0.02, abs=0.02)


@pytest.mark.parametrize("scheme", ["batch", "layer", "weight", "evonorm_b0", "spectral_penalty", "mean_only"])
@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_gpu_trains_in_every_precision(cli, tmp_path, undrawn, scheme, precision):
    run(cli, tmp_path, *MAPS, f"norm={scheme}", f"precision={precision}", "clip_norm=1")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # of torch's compiler, about its own imports
@pytest.mark.parametrize("compiled", ["true", "norms"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("scheme", ["batch", "layer", "decorrelated"])
def test_gpu_trains_compiled(cli, tmp_path, undrawn, scheme, compiled, precision):
    plain, ours = (
        curves(
            run(
                cli,
                tmp_path / each,
                *MAPS,
                f"norm={scheme}",
                f"precision={precision}",
                f"compile={each}",
                "optim.lr=0.01",
            )
        )
        for each in ("false", compiled)
    )
    assert ours[-1]["test/loss"] == pytest.approx(plain[-1]["test/loss"], rel=0.05)


DROPOUT = (*NETWORKS["vit"].split(), "model.dropout=0.5")


def test_a_stopped_run_continues_on_a_gpu(cli, tmp_path, undrawn, monkeypatch):
    """With dropout, so that the GPU's own generator has to go on where it was."""
    words = (*DROPOUT, "optim=adam", "steps=12")
    whole = run(cli, tmp_path / "whole", *words)
    from normexp.runs.trainer import Trainer

    record = Trainer.record

    def stop(self, row):
        record(self, row)
        if self.position.step == 6:
            self._stop()

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "record", stop)
        status, _, stderr = cli(
            "run", *SMALL, f"device={DEVICE}", f"results_dir={tmp_path / DEVICE}", *words, "--quiet"
        )
        assert status == 130, stderr
    continued = run(cli, tmp_path, *words)
    for ours, theirs in zip(curves(continued), curves(whole), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    loaded = normexp.load_model(continued.path)
    assert {each.device.type for each in loaded.parameters()} == {"cpu"}


def test_a_run_of_a_gpu_continues_on_a_cpu_and_says_so(cli, tmp_path, undrawn, monkeypatch):
    from normexp.runs.trainer import Trainer

    record = Trainer.record

    def stop(self, row):
        record(self, row)
        if self.position.step == 3:
            self._stop()

    words = ("run", *SMALL, *DROPOUT, "optim=adam", f"results_dir={tmp_path}", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "record", stop)
        assert cli(*words, "device=cuda")[0] == 130
    status, stdout, stderr = cli(*words, "device=cpu")
    assert status == 0, stderr
    environment = json.loads((Path(stdout.splitlines()[-1]) / "environment.json").read_text())
    assert "cuda" in json.dumps(environment)


def test_equal_commands_give_nearly_equal_curves_on_a_gpu(cli, tmp_path, undrawn):
    first, second = (curves(run(cli, tmp_path / each, *MAPS, "norm=batch")) for each in ("first", "second"))
    assert [row["test/loss"] for row in first] == pytest.approx([row["test/loss"] for row in second], rel=1e-3)


PROBES = [
    "covariance_spectrum", "effective_rate", "equilibrium", "gradient_norm", "gram_distance", "jacobian", "moments",
    "percentiles", "update_angle", "weight_norm",
]  # fmt: skip


@pytest.mark.parametrize("probe", PROBES)
def test_probes_look_at_a_network_on_a_gpu(cli, tmp_path, undrawn, probe):
    model = ("model=mlp",) if probe in ("jacobian", "covariance_spectrum") else MAPS
    found = run(cli, tmp_path, *model, "norm=batch", f"probe={probe}", "optim.momentum=0.9", "optim.weight_decay=0.001")
    assert read_rows(found.path / "probes.csv")


def test_sweep_trains_side_by_side_on_one_gpu(cli, tmp_path):
    words = (*SMALL, "model=mlp", "norm=batch,layer,weight", "seed=0,1", f"device={DEVICE}", f"results_dir={tmp_path}")
    status, _, stderr = cli("sweep", *words, "jobs=2")
    assert status == 0, stderr
    assert {each.status["status"] for each in find_runs([tmp_path])} == {"done"}


def test_stacked_runs_are_those_of_single_runs_on_a_gpu(cli, tmp_path):
    words = (*SMALL, "model=mlp", "norm=batch", "seed=0,1", "optim.lr=0.05,0.01", f"device={DEVICE}", "jobs=1")
    for folder, more in (("stacked", ("stack=true",)), ("alone", ())):
        status, _, stderr = cli("sweep", *words, *more, f"results_dir={tmp_path / folder}")
        assert status == 0, stderr
    stacked, alone = (
        {each.path.name: each for each in find_runs([tmp_path / folder])} for folder in ("stacked", "alone")
    )
    assert stacked.keys() == alone.keys()
    for name, each in stacked.items():
        for ours, theirs in zip(curves(each), curves(alone[name]), strict=True):
            assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("batch_size", [32, 300])
def test_more_than_the_gpu_holds_is_one_line(cli, tmp_path, undrawn, batch_size):
    width = 4000 if batch_size == 32 else 200
    words = (
        "dataset=digits",
        "model=mlp",
        f"model.widths={[width] * (9600 // width)}",
        "steps=2",
        f"batch_size={batch_size}",
    )
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(40e6 / torch.cuda.get_device_properties(0).total_memory)
    try:
        status, _, stderr = cli("run", *words, f"device={DEVICE}", f"results_dir={tmp_path}", "--quiet")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert status == 2
    assert len(stderr.splitlines()) == 1
    assert "the memory of the GPU does not suffice" in stderr


def test_texts_are_sampled_from_a_network_that_a_gpu_trained(cli, tmp_path, undrawn):
    found = run(cli, tmp_path, *NETWORKS["gpt"].split())
    assert cli("sample", str(found.path), "--prompt", "the ")[0] == 0


def test_diagnosis_convert_and_fold_of_a_network_on_a_gpu():
    from torchvision.models import resnet18

    model = resnet18(num_classes=10).to(DEVICE)
    batch = torch.randn(8, 3, 64, 64, device=DEVICE)
    report = normexp.diagnose(model, batch)
    assert report is not None
    converted = normexp.convert(model, normexp.norms.GroupNorm(num_groups=8))
    assert converted(batch).device.type == DEVICE
    folded = normexp.fold(resnet18(num_classes=10).to(DEVICE).eval())
    assert folded(batch).device.type == DEVICE


def test_generators_of_a_gpu_are_put_back(cli, tmp_path, undrawn):
    torch.cuda.manual_seed(7)
    before = torch.cuda.get_rng_state()
    run(cli, tmp_path, *DROPOUT)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names())
def test_experiments_on_a_gpu(cli, tmp_path, monkeypatch, name):
    """Every experiment at its smallest scale, which asks for no data of the user's own."""
    monkeypatch.chdir(tmp_path)
    words = (f"scale={scales(name)[0]}", f"device={DEVICE}", "jobs=1", "threads=1", f"results_dir={tmp_path}")
    status, _, stderr = cli("reproduce", name, *words)
    assert status == 0, stderr
