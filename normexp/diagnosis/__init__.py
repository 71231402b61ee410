"""What is wrong with the normalization of somebody's own network, measured on a batch or a loader, and the repair."""
