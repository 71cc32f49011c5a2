"""The derived index: points found by vector and by word, filtered by where they belong."""
