"""From a configuration to a trained network: parts, batches, the loop, schedules, hardware."""
