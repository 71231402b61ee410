"""One configuration to one run directory: trainer, checkpoint, recorder, progress, signals, estimate."""
