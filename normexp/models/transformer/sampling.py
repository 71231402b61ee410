"""Text from a decoder, token by token; several texts side by side cost little more than one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normexp.norms.networks.trial import modes_kept


@torch.inference_mode()
def generate(
    model: nn.Module, prompt: Tensor, count: int, context: int, source: torch.Generator, temperature: float = 1.0
) -> Tensor:
    """Return `count` tokens drawn one after the other from what the network predicts: (N, count).

    Args:
        prompt: the tokens to go on from, (N, at least 1).
        context: most tokens that the network sees; it sees the last ones.
        source: generator on the CPU.
        temperature: divides the outputs; below 1 likely tokens become likelier, near 0 the likeliest is all there is.

    Raises: ValueError for a network whose outputs are not finite.
    """
    tokens = prompt
    with modes_kept(model):
        model.eval()
        for _ in range(count):
            outputs = model(tokens[:, -context:])[:, -1].float().cpu()
            if not outputs.isfinite().all():
                raise ValueError("its outputs are not finite")
            drawn = torch.multinomial(_chances(outputs, temperature), 1, generator=source).to(tokens.device)
            tokens = torch.cat([tokens, drawn], 1)
    return tokens[:, prompt.shape[1] :]


def _chances(outputs: Tensor, temperature: float) -> Tensor:
    """Return softmax(outputs / temperature) of (N, K); what is largest is 0 before it is divided by a number near 0."""
    apart = outputs - outputs.amax(-1, keepdim=True)
    return (apart / max(temperature, torch.finfo(apart.dtype).tiny)).softmax(-1)
