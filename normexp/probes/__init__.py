"""Measurements on a network while it trains: one per file, written to probes.csv at every evaluation."""
