"""What `normexp sweep` takes beside the keys of its runs, and the words that it takes there."""

STACK = ("false", "true", "auto")
SAMPLERS = {"tpe": "TPESampler", "random": "RandomSampler"}  # and their names in Optuna
OF_GRIDS: dict[str, tuple[str, ...]] = {
    "jobs": (),
    "stack": STACK,
    "shard": (),
    "sampler": tuple(sorted(SAMPLERS)),
    "trials": (),
    "sampler_seed": (),
    "executor": (),  # a group
}
