"""normexp: reproduce and compare the normalization schemes of neural networks."""

__version__ = "0.1.0"
