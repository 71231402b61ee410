"""Experiments as YAML: schema, checks, selection, reproduction."""
