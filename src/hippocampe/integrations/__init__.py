"""Connect hosts: what a model is given before a turn, what is stored after it, who speaks and where.

`turns` is the core, over the facade; each other module adapts it to one host, whose package it imports.
"""
