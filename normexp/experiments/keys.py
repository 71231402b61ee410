"""Which keys may be typed beside the name of an experiment."""

FILES = ("dataset.archive", "dataset.file")
REPRODUCE = ("scale", "jobs", "results_dir", "threads", "device", "precision", "compile", *FILES)
REPORT = ("scale", "results_dir")
