"""Texts from a run that has learned one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from normexp.config import Config
from normexp.config.text import amount, shortened
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
        prompt: what the texts begin behind; characters of the text that was learned. None is a new line; an empty one,
            or none in a text without new lines, is its first character by number.
        count: length of each text, in tokens.
        texts: number of texts; drawn side by side.
        temperature: below 1 more careful, above 1 more daring.
        file: where the text is that was learned; a record knows the file's name alone.
        plugins: modules that parts of the user's own may come from.

    Raises: UserError where there is no run, for one that has learned no text or has diverged, a character that it does
        not know, a checkpoint of another vocabulary, data that cannot be had, or more tokens than memory holds.
    """
    import torch

    from normexp.data.base import check_fits
    from normexp.data.text import decode
    from normexp.models.transformer.sampling import generate
    from normexp.seeding import generator

    named = os.fspath(path)
    directory = find_run(named, f"sample {named}:")
    config = _config(directory, file, plugins)
    data = _text(named, directory, config, given=file is not None)
    model = load_model(directory, input_shape=data.input_shape, num_outputs=data.num_outputs, plugins=plugins)
    begin = _begin(data, prompt)
    check_fits(2 * texts * (len(begin) + count), f"a sample of {amount(texts, 'text')} with {count:,} tokens each")
    tokens, source = torch.tensor(begin).expand(texts, -1), generator(config["seed"], "sample")
    try:
        drawn = generate(model, tokens, count, data.input_shape[0], source, temperature)
    except ValueError as error:
        raise UserError(f"{named}: {error}, so no text can be drawn from them; a smaller optim.lr may help") from None
    return [decode(data.classes, row.tolist()) for row in drawn]


def _config(directory: RunDirectory, file: str | None, plugins: Sequence[str]) -> Config:
    """Return what a record holds, with the file of its text where that is now."""
    config = recorded(directory, plugins)
    if file is None or "file" not in config["dataset"]:
        return config
    return replace(config, values={**config.values, "dataset": {**config["dataset"], "file": file}})


def _begin(data: Data, prompt: str | None) -> list[int]:
    """Return the tokens that the texts begin behind, at least one."""
    from normexp.data.text import BYTES, encode

    if prompt is None:
        prompt = "\n" if data.classes == BYTES or "\n" in data.classes else ""
    try:
        return encode(data.classes, prompt) or [0]
    except UserError as error:
        raise UserError(f"--prompt {shortened(prompt)!r}: {error}") from None


def _text(named: str, directory: RunDirectory, config: Config, given: bool) -> Data:
    """Return the text that a run has learned. Raises UserError where it is no text, or another one.

    Args:
        given: its file was said to be elsewhere than the record says.
    """
    from normexp.data.loading import Loader

    file = config["dataset"].get("file")
    if file is not None and not given and not os.path.exists(file):
        raise UserError(f"{named}: {file}, the text that it has learned, is not here; --file PATH says where it is")
    try:
        data = Loader().load(config)
    except UserError as error:
        raise UserError(str(error).replace("dataset.file=", "--file ", 1) if given else str(error)) from None
    if data.task != "language":
        raise UserError(f"{named}: dataset={config.choices['dataset']} is no text; a sample needs dataset=text")
    known = directory.data.get("sha256", data.fingerprint)
    if known != data.fingerprint:
        raise UserError(
            f"{named}: has learned another text (sha256 {known[:12]}..., now {data.fingerprint[:12]}...), so "
            "its vocabulary is another one; give it back its text"
        )
    return data
