"""Libraries that only some of what can be chosen needs: the extras of the package."""

from __future__ import annotations

from importlib.util import find_spec

from normexp.errors import UserError

LIBRARIES = {  # extra -> what of it is imported
    "slurm": ("submitit",),
    "ray": ("ray",),
    "tensorboard": ("tensorboard",),
    "mlflow": ("mlflow", "sqlalchemy", "alembic"),
    "trackio": ("trackio",),
    "optuna": ("optuna",),
}


def need_extra(key: str, name: str, extra: str | None = None) -> None:
    """Raise UserError, with the line that installs it, where KEY=NAME needs a library that is missing.

    Args:
        extra: of the package, where it is not called NAME.
    """
    extra = extra or name
    for library in LIBRARIES.get(extra, ()):
        if find_spec(library) is None:
            raise UserError(f"{key}={name}: {library} is not installed; pip install 'normexp[{extra}]'")
