"""Recurrent cells, one per file, and the loop that runs one over a batch of sequences."""
