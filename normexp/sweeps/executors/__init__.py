"""What starts workers: processes here, a SLURM array, Ray tasks. Each starts N times `normexp worker SWEEP`."""
