"""Where a transformer normalizes: one placement per file, all behind the contract of `placements.base`."""

from normexp.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
