"""Many configurations: plan, worker processes, prefetched data, status."""
