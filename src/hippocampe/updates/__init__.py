"""Decide what a new statement is to an old one: repeat, update, detail, contradiction, or another matter."""
