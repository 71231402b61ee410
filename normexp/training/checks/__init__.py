"""What is found wrong, or not what it seems, before a run begins: sizes, orders, outputs and states of a network."""
