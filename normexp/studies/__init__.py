"""Studies: what a paper or a lecture shows without training to the end, one per file, measured instead of trained."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
