"""Initial weights: one option of the group `init` per file, behind the contract of `normexp.models.init.base`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
