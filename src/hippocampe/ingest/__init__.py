"""Validate and write statements, conversations, imports, archives and notes."""
