"""What the verbs of reporting do, one module for each, and what `run` and `sweep` print when they have ended."""
