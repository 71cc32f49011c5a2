"""Readers of exported conversations."""
