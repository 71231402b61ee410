"""The command line: parsers and verbs. Nothing heavy is imported at module level."""
