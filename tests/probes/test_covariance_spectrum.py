"""The spectrum of the inputs' covariance is that of numpy."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from situations import facing, found
from torch import Tensor, nn

from normexp.probes.covariance_spectrum import CovarianceSpectrum


def numpy_spectrum(rows: np.ndarray) -> dict[str, float]:
    values = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    values = values[values > 1e-8 * values.max()]
    share = values / values.sum()
    return {
        "largest": values.max(),
        "smallest": values.min(),
        "trace": values.sum(),
        "condition": values.max() / values.min(),
        "effective_rank": np.exp(-(share * np.log(share)).sum()),
    }


def assert_spectrum(values: dict[tuple[str, str], float], layer: str, rows: Tensor) -> None:
    inputs = rows.double().numpy()
    for kind, each in (("uncentred", inputs), ("centred", inputs - inputs.mean(0))):
        expected = {f"{kind}_{name}": value for name, value in numpy_spectrum(each).items()}
        measured = {name: values[layer, name] for name in expected}
        assert measured == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("examples", [40, 6])
def test_spectrum_of_a_linear_layer_is_that_of_numpy(network, examples):
    network[0] = nn.Linear(9, 4)
    x = torch.randn(examples, 9) * torch.arange(1, 10) + 2
    x[:, 3] = 0  # an input that is always off has the eigenvalue 0, which does not count
    values = found(CovarianceSpectrum(), facing(network, x))
    assert_spectrum(values, "0", x)


CONVOLUTIONS = {
    "plain": {"kernel_size": 3},
    "padded": {"kernel_size": (3, 2), "padding": (1, 0), "stride": 2},
    "dilated": {"kernel_size": 2, "dilation": 2, "padding": 1},
}


@pytest.mark.parametrize("arguments", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_spectrum_of_a_convolution_is_that_of_its_patches(arguments):
    conv, x = nn.Conv2d(2, 3, **arguments), torch.randn(30, 2, 7, 6)
    values = found(CovarianceSpectrum(), facing(nn.Sequential(conv), x))
    assert_spectrum(values, "0", F.unfold(x, **arguments).movedim(1, 2).flatten(0, 1))


def test_spectrum_of_a_grouped_convolution_is_that_of_its_first_group():
    conv, x = nn.Conv2d(4, 4, 3, groups=2, padding="same"), torch.randn(20, 4, 5, 5)
    values = found(CovarianceSpectrum(), facing(nn.Sequential(conv), x))
    assert_spectrum(values, "0", F.unfold(x[:, :2], 3, padding=1).movedim(1, 2).flatten(0, 1))


def test_spectrum_of_many_patches_is_near_that_of_all():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(1, 2, 3)), torch.randn(200, 1, 12, 12)
    few, again, every = (
        found(CovarianceSpectrum(patches=patches), facing(model, x)) for patches in (4000, 4000, 10**6)
    )
    assert few == again
    assert few["0", "centred_trace"] != every["0", "centred_trace"]
    assert few["0", "centred_trace"] == pytest.approx(every["0", "centred_trace"], rel=0.05)
