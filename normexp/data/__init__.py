"""Data sets: one per file, read with NumPy alone, so that a bad file is found before torch is imported."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
