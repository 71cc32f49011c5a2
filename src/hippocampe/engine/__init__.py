"""Shared parts of all steps: the context, the unit of work, the projection of the store to the index."""
