"""The ledger: every judged claim and printed number under results/, the page of laws, and where they are read."""
