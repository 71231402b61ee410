"""Which keys may be typed beside the name of an experiment."""

PLUGINS = "plugins"  # modules of the user's own that an experiment's YAML may name parts of
RESULTS = "results_dir"
FILES = ("dataset.archive", "dataset.file")
SHARING = ("jobs", "stack", "executor")  # how runs are shared among processes and machines
REPRODUCE = ("scale", *SHARING, "results_dir", "threads", "device", "precision", "compile", PLUGINS, *FILES)
REPORT = ("scale", "results_dir")
LEDGER = (*REPORT, "verdict", "find")
RENDER = (*REPORT, PLUGINS)
