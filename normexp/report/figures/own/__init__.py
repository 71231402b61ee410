"""Figures of a kind of their own, one per module: a function from a subject to a chart."""
