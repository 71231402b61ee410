"""`normexp verify`: checks that take a record, or a promise, at its word."""
