"""Parse time expressions into time windows: grammar → resolve → window."""
