"""Reporting: run directories in, figures and tables out. Never trains, and imports no torch."""
