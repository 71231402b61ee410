"""Initial weights: one option of the group `init` per file, behind the contract of `normexp.init.base`."""
