"""One stack of figures: `chart` declares, `averages` averages runs, `picture` draws, `formats` writes.

`runs` makes charts of run directories (`normexp plot`), `experiments` those of an experiment's YAML. Pictures of a
kind of their own are modules in `own`.
"""
