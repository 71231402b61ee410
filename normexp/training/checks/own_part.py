"""Which part of the user's own raised an error that ended a run: somebody who wrote several has to know which."""

from __future__ import annotations

from types import FrameType

from normexp.config import Config
from normexp.config.instantiate import innermost, is_inside, own_parts
from normexp.errors import RAISED_BY, frames_of, place_of


def name_own_part(error: BaseException, config: Config, step: int | None = None) -> None:
    """Note on an error by which part of the user's own it was raised, in which line and function, and step."""
    own = own_parts(config)
    inside = [
        (frame, line, groups)
        for frame, line in frames_of(error)
        if (groups := [group for group, target in own.items() if _is_own(frame, target)])
    ]
    if inside:
        frame, line, groups = inside[-1]
        named = innermost([frame for frame, *_ in inside], own, config)
        parts = " or ".join(f"{group}={own[group]}" for group in ([named] if named else groups))
        at = "" if step is None else f" at step {step}"
        error.add_note(f"{RAISED_BY}{parts} ({place_of(frame, line)}){at}")


def _is_own(frame: FrameType, target: str) -> bool:
    """Tell whether a frame is code of the module that a part is in."""
    return is_inside(str(frame.f_globals.get("__name__")), [target.rpartition(".")[0]])
