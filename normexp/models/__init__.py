"""Networks: one per file. Each takes `input_shape`, `num_outputs` and a `norm`, and asks the norm for its blocks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
