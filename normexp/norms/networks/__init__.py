"""Reading and changing somebody else's network, for `convert`, `fold` and whoever calls one on trial."""
