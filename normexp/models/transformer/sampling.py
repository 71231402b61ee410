"""Text from a decoder, token by token; several texts side by side cost little more than one."""

from __future__ import annotations

import torch
from torch import Tensor, nn


@torch.inference_mode()
def generate(
    model: nn.Module, prompt: Tensor, count: int, context: int, source: torch.Generator, temperature: float = 1.0
) -> Tensor:
    """Return `count` tokens drawn one after the other from what the network predicts: (N, count).

    Args:
        prompt: the tokens to go on from, (N, at least 1).
        context: most tokens that the network sees; it sees the last ones.
        source: generator on the CPU.
        temperature: divides the outputs; below 1 likely tokens become likelier.
    """
    mode = model.training
    model.eval()
    tokens = prompt
    for _ in range(count):
        outputs = model(tokens[:, -context:])[:, -1]
        chances = (outputs.float() / temperature).softmax(-1).cpu()
        drawn = torch.multinomial(chances, 1, generator=source).to(tokens.device)
        tokens = torch.cat([tokens, drawn], 1)
    model.train(mode)
    return tokens[:, prompt.shape[1] :]
