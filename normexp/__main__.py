"""`python -m normexp` is the same program as `normexp`."""

from normexp.cli import main

raise SystemExit(main())
