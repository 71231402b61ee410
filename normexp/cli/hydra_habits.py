"""What people type to programs that are Hydra applications: read where it means something here, else explained."""

from __future__ import annotations

from normexp.errors import UserError

JOB = ("job", "hydra", "all")  # what may follow Hydra's --cfg
INSTEAD = {  # Hydra's flag -> what to type here
    "-cn": "--config my.yaml reads settings from a file",
    "--config-name": "--config my.yaml reads settings from a file",
    "-cp": "--config FOLDER/my.yaml reads settings from a file",
    "--config-path": "--config FOLDER/my.yaml reads settings from a file",
    "-cd": "--config FOLDER/my.yaml reads settings from a file",
    "--config-dir": "--config FOLDER/my.yaml reads settings from a file",
    "-c": "--cfg prints the configuration, --config my.yaml reads settings from a file",
    "-p": "--cfg prints the whole configuration",
    "--package": "--cfg prints the whole configuration",
    "--resolve": "--cfg prints the configuration, which is always resolved",
    "-i": "`normexp list` shows the options, --cfg the configuration",
    "--info": "`normexp list` shows the options, --cfg the configuration",
    "--hydra-help": "`normexp run --help` shows groups and options",
    "--experimental-rerun": "--like RUN trains with the settings of a run",
}


def as_typed_here(words: list[str]) -> list[str]:
    """Return the words of `run` and `sweep` in our spelling: `++key=value` sets a key, `--cfg job` is `--cfg`.

    Raises: UserError for a habit that has no meaning here, with what to type in its place.
    """
    kept = [word for i, word in enumerate(words) if not (i and words[i - 1] == "--cfg" and word in JOB)]
    for word in kept:
        _explain(word)
    return [word.removeprefix("++") for word in kept]


def _explain(word: str) -> None:
    flag, key = word.partition("=")[0], word.partition("=")[0].lstrip("+~")
    if flag in INSTEAD:
        raise UserError(f"{flag} is an option of Hydra's applications; here {INSTEAD[flag]}")
    if key == "hydra" or (key.startswith(("hydra.", "hydra/")) and not key.endswith((".yaml", ".yml"))):
        raise UserError(
            f"{key}: only the grammar of overrides is Hydra's here; results_dir=FOLDER says where runs go, "
            "jobs=N how many run side by side"
        )
    if key == "experiment" and "=" in word:
        raise UserError(f"{word}: experiments have a command of their own: normexp reproduce {word.partition('=')[2]}")
