"""Real keys with drawn values: a configuration, or one line of error; never a traceback, "failed:" or a hang."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from normexp.cli.verbs import main
from normexp.config import groups, options
from normexp.config.options import config_dir, keys_of, load_yaml, option

SECONDS = 10.0  # of this thread's own time; torch is imported
ODD = [
    "",
    "null",
    "true",
    "nan",
    "inf",
    "-inf",
    "[]",
    "[1,2]",
    "[a]",
    "{a:1}",
    "abc",
    "größe",
    "a,b",
    "range(3)",
    "1e-300",
]
ODD += [
    "0",
    "1",
    "-1",
    "0.5",
    "1e30",
    "1e400",
    "99999999999999999999",
    "'",
    '"x"',
    "${seed}",
    "x=y",
    "(",
    "../..",
    "1_0",
]
HEAVY = (
    "mnist",
    "fashion_mnist",
    "cifar10",
    "sequential_mnist",
    "babi",
    "image_folder",
    "csv",
)  # data that are not here
SMALL = ["0", "1", "2", "3", "5", "0.1", "0.5", "0.9", "true", "false", "null", "pre", "post", "[2]", "[3,2]", "relu"]
ROOT = ("seed", "batch_size", "clip_norm", "eval_every", "evals_per_epoch", "precision")


def root_keys() -> list[str]:
    return [key for key in load_yaml(config_dir() / "config.yaml") if key not in ("defaults", "results_dir")]


@st.composite
def overrides(draw: st.DrawFn, values: list[str], chosen: Callable[[str], list[str]], root: list[str]) -> list[str]:
    """Draw options of some groups, and values of some keys that these options, or the defaults, have."""
    names = {
        group: draw(st.sampled_from(chosen(group))) for group in draw(st.sets(st.sampled_from(groups()), max_size=4))
    }
    usual = {"dataset": "digits", "inputs": "standardize", "model": "cnn", "optim": "sgd", "schedule": "constant"}
    there = {**dict.fromkeys(groups(), "none"), "init": "default", **usual, **names}
    keys = [f"{group}.{key}" for group, name in there.items() for key in keys_of(option(group, name))] + root
    set_keys = draw(st.sets(st.sampled_from(sorted(keys)), max_size=4))
    given = {key: draw(st.sampled_from(values)) for key in sorted(set_keys)}
    return [f"{key}={value}" for key, value in {**names, **given}.items()]


COMPOSED = overrides(ODD + SMALL, lambda group: list(options(group)), root_keys())
BUILT = overrides(
    SMALL, lambda group: ["none"] if group == "study" else [n for n in options(group) if n not in HEAVY], list(ROOT)
)


@pytest.fixture(scope="module", autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fuzz"))
        yield


def check(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    began = time.thread_time()
    status = main(words)
    seconds, (_, stderr) = time.thread_time() - began, capfd.readouterr()
    told = f"normexp {' '.join(words)}\nexit status {status}\n{stderr}"
    assert status in (0, 2), told
    assert "failed:" not in stderr, told
    assert "Traceback" not in stderr, told
    assert status == 0 or stderr.count("\n") == 1, told
    assert seconds < SECONDS, told


def examples(count: int) -> Callable[..., object]:
    quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    phases = [Phase.explicit, Phase.generate, Phase.shrink]
    return settings(
        max_examples=count, deadline=None, database=None, derandomize=True, phases=phases, suppress_health_check=quiet
    )


@given(words=COMPOSED)
@examples(60)
def test_a_configuration_or_one_line(words, capfd):
    check(["run", "--cfg", *words], capfd)


@pytest.mark.slow
@given(words=COMPOSED)
@examples(2000)
def test_a_configuration_or_one_line_2000_times(words, capfd):
    check(["run", "--cfg", *words], capfd)


@pytest.mark.slow
@given(words=BUILT)
@examples(150)
def test_one_step_or_one_line(words, capfd, tmp_path: Path):
    results = tempfile.mkdtemp(dir=tmp_path)  # an example may come twice, and continues what it finds
    where = [f"results_dir={results}", "steps=1", "threads=1", "--quiet"]
    small = ["dataset.subset=24"] if not any(word.startswith("dataset") for word in words) else []
    if not any(word.startswith("batch_size=") for word in words):
        small.append("batch_size=8")  # a batch larger than the data is said in a line of its own
    check(["run", *words, *small, *where], capfd)
