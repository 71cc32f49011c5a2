"""Time expressions in French and English, read into time windows."""
