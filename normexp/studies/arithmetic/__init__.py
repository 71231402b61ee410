"""Arithmetic of studies: of several, or tested by itself; none of it knows a configuration."""
