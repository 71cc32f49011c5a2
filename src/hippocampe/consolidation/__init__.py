"""A new statement against an old one: which of them stays. Pure."""
