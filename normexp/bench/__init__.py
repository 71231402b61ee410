"""`normexp bench`: how fast the program is beside what people would write instead, in ratios of one run."""
