"""Measurements on a network while it trains: one per file, written to probes.csv at every evaluation."""

from normexp.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
