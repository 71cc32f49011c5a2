"""Recognise the subject of an erasure in labels and texts. Pure."""

from hippocampe.language.text import fold, words, written_words


class NamedSubject:
    """The `hippocampe.store.erasure.Subject` of a name given by the user, in any case.

    A text names it if its words occur in a row, ignoring accents, and at least one has a capital: "Rose" is in "Rose est
    ma voisine" and "ROSE !", not in "le vin rose". The capital that opens a sentence counts. Names in a script without
    capitals need none.
    """

    def __init__(self, name: str) -> None:
        self.folded = fold(name).strip()
        self.words = frozenset(words(name))
        self._row = _row(name)
        self._cased = name.lower() != name.upper()

    def is_in_label(self, label: str) -> bool:
        """Return whether a tag or key contains the subject, in any case: these are written without capitals."""
        return self._occurs(label, cased=False)

    def is_in_text(self, text: str) -> bool:
        """Return whether a text names the subject, with its capital."""
        return self._occurs(text, cased=self._cased)

    def is_in_title(self, title: str) -> bool:
        """Return whether a source, heading, path or value is the subject, in any case, or names it."""
        return _row(title) == self._row or self.is_in_text(title)

    def is_quoted_in(self, text: str) -> bool:
        """Return whether a text contains all words of the subject, in any case and order."""
        return self.words <= set(words(text))

    def _occurs(self, text: str, *, cased: bool) -> bool:
        folded, size = fold(text), len(self._row)
        # Fast path: most texts contain no word of the name, and splitting costs ten times as much.
        if not self._row or not all(word in folded for word in self._row):
            return False
        written, row = written_words(text), _row(text)
        return any(
            row[start : start + size] == self._row
            and (not cased or any(w != w.lower() for w in written[start : start + size]))
            for start in range(len(row) - size + 1)
        )


def _row(text: str) -> list[str]:
    return [fold(word) for word in written_words(text)]
