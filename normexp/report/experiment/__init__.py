"""Rendering an experiment: its run directories in; table, figures and judged claims out. Never trains."""

from normexp.report.experiment.render import render

__all__ = ["render"]
