"""The parts of a transformer: attention, feed-forward, positions, head, and the residual stream that joins them."""
