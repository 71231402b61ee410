"""Texts from a run that has learned one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from normexp.config import Config
from normexp.errors import UserError
from normexp.records import RunDirectory, find_run
from normexp.runs.python import load_model, recorded

if TYPE_CHECKING:
    from normexp.data.base import Data  # imports NumPy


def sample(
    path: str | os.PathLike[str],
    prompt: str | None = None,
    count: int = 300,
    texts: int = 1,
    temperature: float = 1.0,
    file: str | None = None,
    plugins: Sequence[str] = (),
) -> list[str]:
    """Return texts that the trained network of a run goes on with, the same ones every time.

    Args:
        path: the run directory, or a folder that holds one.
        prompt: what the texts begin behind; characters of the text that was learned. None is a new line, or in a text
            without one its first character by number.
        count: length of each text, in tokens.
        texts: number of texts; drawn side by side.
        temperature: below 1 more careful, above 1 more daring.
        file: where the text is that was learned; a record knows the file's name alone.
        plugins: modules that parts of the user's own may come from.

    Raises: UserError where there is no run, for one that has learned no text, a character that it does not know, a
        checkpoint of another vocabulary, or data that cannot be had.
    """
    import torch

    from normexp.data.text import BYTES, decode, encode
    from normexp.models.transformer.sampling import generate
    from normexp.seeding import generator

    named = os.fspath(path)
    directory = find_run(named, f"sample {named}:")
    config = recorded(directory, plugins)
    if file is not None:
        config = replace(config, values={**config.values, "dataset": {**config["dataset"], "file": file}})
    data = _text(named, directory, config)
    model = load_model(directory, input_shape=data.input_shape, num_outputs=data.num_outputs, plugins=plugins)
    if prompt is None:
        prompt = "\n" if data.classes == BYTES or "\n" in data.classes else ""
    tokens = torch.tensor(encode(data.classes, prompt) or [0]).expand(texts, -1)
    source = generator(config["seed"], "sample")
    drawn = generate(model, tokens, count, data.input_shape[0], source, temperature)
    return [decode(data.classes, row.tolist()) for row in drawn]


def _text(named: str, directory: RunDirectory, config: Config) -> Data:
    """Return the text that a run has learned. Raises UserError where it is no text, or another one."""
    from normexp.data.loading import Loader

    data = Loader().load(config)
    if data.task != "language":
        raise UserError(f"{named}: dataset={config.choices['dataset']} is no text; a sample needs dataset=text")
    known = directory.environment.get("data", {}).get("sha256", data.fingerprint)
    if known != data.fingerprint:
        raise UserError(
            f"{named}: has learned another text (sha256 {known[:12]}..., now {data.fingerprint[:12]}...), so "
            "its vocabulary is another one; give it back its text"
        )
    return data
