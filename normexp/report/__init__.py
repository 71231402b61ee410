"""Reporting: run directories in, figures and tables out. Never trains, and imports no torch."""

from normexp.report.commands import compare, plot_command, table_command

__all__ = ["compare", "plot_command", "table_command"]
