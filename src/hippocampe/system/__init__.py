"""Use the operating system: child processes, sockets, files, user folders, page cache, disk space."""
