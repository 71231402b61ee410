"""`normexp` and `python -m normexp`: the command line, from the import of its first module on."""

import sys


def main() -> int:
    """Run one command; Ctrl-C while it is imported, or again while it ends, is one line, too."""
    try:
        from normexp.cli.verbs import main as command

        return command()
    except KeyboardInterrupt:
        print("normexp: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
