"""Reporting: run directories in, figures and tables out; imports no torch. Only `reproduce` trains, what is missing."""
