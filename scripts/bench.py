"""`normexp bench` as a script: python scripts/bench.py [SUITE...] [KEY=VALUE...] [--quick]."""

import sys

from normexp.cli.verbs import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
