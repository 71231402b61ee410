"""Schemes of the user's own: what holds them to the contract, and what their hooks make."""
