"""Measure one scheme: what its output does not depend on, where it works, what it holds and what it costs."""
