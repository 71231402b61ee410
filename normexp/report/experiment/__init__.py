"""Rendering an experiment: its run directories in; table, figures and judged claims out. Never trains."""
