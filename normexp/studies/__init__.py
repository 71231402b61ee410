"""Studies: what a paper or a lecture shows without training to the end, one per file, measured instead of trained."""

from normexp.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
