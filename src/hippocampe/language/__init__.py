"""Analyse text without I/O: words, times, statements, relations, secrets; one folder of data per language.

The data of each language is in its own folder (`fr/`, `en/`); see `lexicon`.
"""
