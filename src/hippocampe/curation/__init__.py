"""Change, hide or erase what is remembered."""
