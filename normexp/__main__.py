"""`python -m normexp` is the same program as `normexp`."""

from normexp.cli.verbs import main

raise SystemExit(main())
