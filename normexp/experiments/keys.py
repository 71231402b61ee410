"""Which keys may be typed beside the name of an experiment."""

from normexp.config.own import PLUGINS

RESULTS = "results_dir"
FILES = ("dataset.archive", "dataset.file")
SHARING = ("jobs", "stack", "executor")  # how runs are shared among processes and machines
REPRODUCE = ("scale", *SHARING, RESULTS, "threads", "device", "precision", "compile", PLUGINS, *FILES)
REPORT = ("scale", RESULTS)
LEDGER = (*REPORT, "verdict", "find")
RENDER = (*REPORT, PLUGINS)
LAWS = (RESULTS,)
