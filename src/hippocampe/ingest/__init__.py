"""Validate and write statements, conversations, imports and archives."""
