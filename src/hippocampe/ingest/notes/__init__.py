"""The user's notes: read from a vault or from Obsidian, split, cached and indexed."""
