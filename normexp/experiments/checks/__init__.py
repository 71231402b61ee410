"""What of an experiment cannot work, or is said in vain: one concern per file; `experiments/check.py` asks all."""
