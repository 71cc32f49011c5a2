"""The life of a data folder: open, lock, maintain, verify and close it."""
