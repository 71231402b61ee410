"""Normalization schemes: one per file, all behind the contract of `normexp.norms.base`."""

from normexp.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
