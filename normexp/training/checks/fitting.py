"""What a network or a scheme says of sizes that it cannot have, as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from normexp.config import Config
from normexp.config.instantiate import has_own
from normexp.errors import UserError, first_line, kind_and_line, raised_by, whose_memory
from normexp.norms.convert import WAY_OUT
from normexp.training.checks.own_part import name_own_part

AS_INDICES = "; tokens come as numbers (float32): x.long()"  # an embedding takes them so


@contextmanager
def fitting(config: Config, way_out: str = "", shape: str = "") -> Iterator[None]:
    """Raise as UserError, one line, what a network or a scheme says of shapes and sizes that it cannot have.

    A part of the user's own may fail in any way; what ours raise besides is a mistake in the program.

    Args:
        way_out: the end of the line.
        shape: stands before it where torch complains, which speaks of what reached some layer inside.
    """
    own = has_own(config, "model", "norm", "init")
    known = (ValueError, RuntimeError, AssertionError, MemoryError, OverflowError)
    try:
        yield
    except Exception as error:
        if isinstance(error, UserError) or not (own or isinstance(error, known)):
            raise
        name_own_part(error, config)
        reason = first_line(error) if isinstance(error, known) else kind_and_line(error)
        reason = reason.removesuffix(f"; {WAY_OUT}")
        if (whose := whose_memory(error)) or "Storage size" in reason:
            reason = f"the network is larger than the memory of {whose or 'this machine'}"
        elif isinstance(error, known):
            indices = AS_INDICES if "'indices'" in reason else ""
            reason += raised_by(error) + (shape + indices if isinstance(error, RuntimeError) else "")
        chosen = config.chosen("model", "norm", *["init"] * ("." in config.choices["init"]), "dataset")
        if heads := config["model"].get("qk_norm"):
            chosen += f" model.qk_norm={heads}"
        raise UserError(f"{chosen}: {reason}{way_out}") from error
