"""Figures of a kind of their own, one per module: a function from a context to a chart."""
