"""Networks: one per file. Each takes `input_shape`, `num_outputs` and a `norm`, and asks the norm for its blocks."""
