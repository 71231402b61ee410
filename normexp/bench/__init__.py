"""`normexp bench`: how fast the program is next to common alternatives, in ratios of one run."""
