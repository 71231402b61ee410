"""Run directories as frames: the one room in which reports read records."""
