"""Recurrent batch normalization (Cooijmans et al. 2017) outside recurrent networks: batch normalization."""

from reference import Batch


class Formula(Batch):
    pass
