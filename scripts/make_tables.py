"""The same as `normexp table`: python scripts/make_tables.py --help"""

import sys

from normexp.cli.verbs import main

if __name__ == "__main__":
    sys.exit(main(["table", *sys.argv[1:]]))
