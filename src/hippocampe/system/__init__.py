"""What the operating system gives: worker processes, page cache, memory, folders, whole files."""
