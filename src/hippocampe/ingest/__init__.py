"""The write path: statements, conversations, imports, notes."""
