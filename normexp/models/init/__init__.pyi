from .data_dependent import DataDependent as DataDependent
from .default import Default as Default
from .gaussian import Gaussian as Gaussian
from .glorot import Glorot as Glorot
from .he import He as He
from .lsuv import LSUV as LSUV
from .orthogonal import Orthogonal as Orthogonal
from .uniform_gain import UniformGain as UniformGain
