"""Data sets: one per file, read with NumPy alone, so that a bad file is found before torch is imported."""
