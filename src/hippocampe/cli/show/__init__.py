"""Terminal output of results: a module per group of commands, a function per kind of result."""
