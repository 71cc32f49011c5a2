"""Operating system services: worker processes, page cache, memory, user folders, atomic files."""
