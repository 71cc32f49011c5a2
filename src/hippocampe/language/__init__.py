"""Text analysis without I/O: words, sentences, time expressions, secrets.

The data of each language is in its own folder (`fr/`, `en/`); see `lexicon`.
"""
