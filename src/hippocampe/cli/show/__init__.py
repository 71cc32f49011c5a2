"""How answers look to people: a module per group of commands, a function per kind of answer."""
