"""Open, lock, maintain, verify and close a data folder."""
