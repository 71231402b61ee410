"""Data sets: one per file, read with NumPy alone, so that a bad file is found before torch is imported."""

from normexp.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
