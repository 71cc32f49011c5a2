"""Read a statement: its values, persons, verb and signs of change. Pure."""
