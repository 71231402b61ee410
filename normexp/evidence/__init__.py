"""What records say: statistics, claims, verdicts, audits. Numbers only."""
