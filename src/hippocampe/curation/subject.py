"""How an erasure recognises a subject in labels and texts. Pure."""

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
        """Whether a tag or key contains it, in any case."""
        return self._in_label.is_in(label)

    def is_in_text(self, text: str) -> bool:
        """Whether a text names it, with its capital."""
        return self._in_text.is_in(text)

    def is_in_title(self, title: str) -> bool:
        """Whether a source, heading, path or value is it, in any case, or names it."""
        return self._in_text.is_whole(title) or self._in_text.is_in(title)

    def is_quoted_in(self, text: str) -> bool:
        """Whether a text contains all its words, in any case and order."""
        return self.words <= set(words(text))
