"""Studies: what a paper or a lecture shows without training to the end, one per file, measured instead of trained."""
