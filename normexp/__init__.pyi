from . import norms as norms
from .diagnosis.diagnose import diagnose as diagnose
from .diagnosis.repair import recalibrate as recalibrate
from .diagnosis.repair import to_groups as to_groups
from .errors import Interrupted as Interrupted
from .errors import Submitted as Submitted
from .errors import UserError as UserError
from .norms.convert import convert as convert
from .norms.fold import fold as fold
from .report.results import load as load
from .runs.python import compose as compose
from .runs.python import load_model as load_model
from .runs.python import run as run
from .sweeps.python import sweep as sweep

__version__: str
__all__ = [
    "Interrupted",
    "Submitted",
    "UserError",
    "compose",
    "convert",
    "diagnose",
    "fold",
    "load",
    "load_model",
    "norms",
    "recalibrate",
    "run",
    "sweep",
    "to_groups",
]
