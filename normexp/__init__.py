"""normexp: reproduce and compare the normalization schemes of neural networks. docs/python.md shows how to use it."""

from normexp.lazy import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
