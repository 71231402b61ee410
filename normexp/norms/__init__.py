"""Normalization schemes: one per file, all behind the contract of `normexp.norms.base`."""
