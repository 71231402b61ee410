"""Commands by the names that other programs, or Python, give them: what does that here."""

from __future__ import annotations

from normexp.errors import did_you_mean

_CALLED = {
    "run": ("train", "fit", "start", "launch", "execute"),
    "sweep": ("tune", "search", "grid", "multirun", "hpo"),
    "table": ("compare", "evaluate", "eval", "summary", "summarize", "metrics", "results"),
    "plot": ("figure", "figures", "curves", "graph", "draw", "visualize"),
    "list": ("ls", "options", "schemes"),
    "status": ("watch", "progress", "monitor", "ps", "jobs"),
    "new": ("init", "create", "scaffold"),
    "diagnose": ("doctor", "debug", "lint"),
    "archive": ("pack", "zip", "compress"),
    "claims": ("verdict", "verdicts"),
    "reproduce": ("replicate", "paper"),
    "check": ("test",),
}
_HINTS = {  # word -> the end of the line, where no single command is meant
    **dict.fromkeys(("resume", "continue", "restart"), "; the same `normexp run` or `normexp sweep` again continues"),
    **dict.fromkeys(("rm", "delete", "remove", "clean"), "; no command deletes: a run is a folder below results_dir"),
    **dict.fromkeys(("show", "info", "explain"), "; `normexp list` names what there is, `normexp run --cfg` prints it"),
    "convert": "; in Python it is normexp.convert(network, norm); `normexp diagnose NETWORK BATCH --fix` repairs one",
    "export": "; did you mean `normexp table --format csv` or `normexp archive`?",
}


def hint_of(word: str) -> str:
    """Return the end of the error about a command that another program, or Python, has; or nothing."""
    meant = next((command for command, words in _CALLED.items() if word.casefold() in words), None)
    return _HINTS.get(word.casefold()) or did_you_mean(meant)
