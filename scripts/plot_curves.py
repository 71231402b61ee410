"""The same as `normexp plot`: python scripts/plot_curves.py --help"""

import sys

from normexp.cli.verbs import main

if __name__ == "__main__":
    sys.exit(main(["plot", *sys.argv[1:]]))
