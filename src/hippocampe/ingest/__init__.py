"""The write path: statements, conversations, imports, archives and notes."""
