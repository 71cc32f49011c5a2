"""Injection: the text put in front of the model before it answers."""
