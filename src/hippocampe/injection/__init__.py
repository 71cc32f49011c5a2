"""Serve a turn: select and render the text that a model gets in front of a message."""
