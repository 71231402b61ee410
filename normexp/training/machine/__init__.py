"""The machine that a run computes on: device, cores, processor, and the kernels that libraries choose there."""
