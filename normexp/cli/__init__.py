"""The command line: parsers and verbs. Nothing heavy is imported at module level."""

from normexp.cli.verbs import main

__all__ = ["main"]
