"""Read the notes of the user from a vault or from Obsidian; split, cache and index them."""
