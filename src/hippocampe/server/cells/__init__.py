"""Serve a divided data folder: a router in front of one process per cell."""
