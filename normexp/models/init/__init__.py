"""Initial weights: one option of the group `init` per file, behind the contract of `normexp.models.init.base`."""

from normexp.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
