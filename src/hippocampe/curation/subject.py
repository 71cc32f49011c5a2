"""Recognise the subject of an erasure in labels and texts. Pure."""

from dataclasses import replace

from hippocampe.language.proper_name import ProperName
from hippocampe.language.text import fold, words


class NamedSubject:
    """The `hippocampe.store.erasure.Subject` of a name given by the user."""

    def __init__(self, name: str) -> None:
        self.folded = fold(name).strip()
        self.words = frozenset(words(name))
        self._in_text = ProperName.of(name)
        # Tags and keys are written without capitals.
        self._in_label = replace(self._in_text, cased=False)

    def is_in_label(self, label: str) -> bool:
        """Return whether a tag or key contains the subject, in any case."""
        return self._in_label.is_in(label)

    def is_in_text(self, text: str) -> bool:
        """Return whether a text names the subject, with its capital."""
        return self._in_text.is_in(text)

    def is_in_title(self, title: str) -> bool:
        """Return whether a source, heading, path or value is the subject, in any case, or names it."""
        return self._in_text.is_whole(title) or self._in_text.is_in(title)

    def is_quoted_in(self, text: str) -> bool:
        """Return whether a text contains all words of the subject, in any case and order."""
        return self.words <= set(words(text))
