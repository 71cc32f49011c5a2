"""The user's own notes: read, split, kept up to date."""
