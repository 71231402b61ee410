"""The loop of docs/convert.md does with a scheme what the loop of normexp does."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import normexp
from normexp.norms import BatchNorm, NormProp, RepBatchNorm, SpectralPenalty, WeightNorm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "convert.md"
SCHEMES = {
    "initialize": WeightNorm(),
    "initialize and step_hook": NormProp(),
    "step_hook": RepBatchNorm(layer_steps=2),
    "penalty": SpectralPenalty(),
    "before_evaluation": BatchNorm(estimates="population"),
    "nothing": BatchNorm(),
}


@pytest.mark.parametrize("norm", SCHEMES.values(), ids=SCHEMES)
def test_the_loop_of_the_page_calls_all_that_a_scheme_does(norm, monkeypatch):
    torch.manual_seed(0)
    x, y = torch.randn(32, 3, 6, 6), torch.randint(3, (32,))
    body = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    model, called = nn.Sequential(*body, nn.Linear(8, 3)), []
    for name in ("initialize", "penalty", "step_hook", "before_evaluation"):
        method = getattr(type(norm), name)
        monkeypatch.setattr(type(norm), name, lambda *given, n=name, m=method: called.append(n) or m(*given))
    (loop,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    loop = loop.replace("norm = normexp.norms.RepBatchNorm(layer_steps=10)\n", "")
    names = {"normexp": normexp, "torch": torch, "model": model, "norm": norm, "inputs": x, "batches": 3 * [(x, y)]}
    exec(compile(loop, str(PAGE), "exec"), names)
    assert list(dict.fromkeys(called)) == ["initialize", "step_hook", "penalty", "before_evaluation"]
    assert called.count("penalty") == 3
    assert not model.training
    assert model(x).isfinite().all()
    left = [float(value) for name, value in model.named_buffers() if name.endswith("steps_left")]
    assert left == ([0] if isinstance(norm, RepBatchNorm) else [])
