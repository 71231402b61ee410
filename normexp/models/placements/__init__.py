"""Where a transformer normalizes: one placement per file, all behind the contract of `placements.base`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
