"""Find a proper name in text. A capital distinguishes it from a common word."""

from dataclasses import dataclass

from hippocampe.language.text import fold, written_words


@dataclass(frozen=True, slots=True)
class ProperName:
    """A name of one or more words, to search for in text.

    A text contains the name if the words occur in a row, ignoring accents, and at least one has a
    capital: "Rose" is in "Rose est ma voisine" and "ROSE !", not in "le vin rose". The capital that
    opens a sentence counts. Names in a script without capitals need none. The case of the name
    passed to `of` does not matter.

    Attributes:
        words: The folded words of the name.
        cased: Whether the script has capitals.
    """

    words: tuple[str, ...]
    cased: bool

    @classmethod
    def of(cls, name: str) -> "ProperName":
        """Parse a name, ignoring its case."""
        return cls(tuple(map(fold, written_words(name))), name.lower() != name.upper())

    def is_in(self, text: str) -> bool:
        """Return whether `text` contains the name."""
        folded = fold(text)
        # Fast path: most texts contain no word of the name, and splitting costs ten times as much.
        if not self.words or not all(word in folded for word in self.words):
            return False
        written = written_words(text)
        folded_words = tuple(map(fold, written))
        size = len(self.words)
        return any(
            folded_words[start : start + size] == self.words
            and (not self.cased or any(w != w.lower() for w in written[start : start + size]))
            for start in range(len(folded_words) - size + 1)
        )

    def is_whole(self, text: str) -> bool:
        """Return whether `text` is exactly the name, ignoring case."""
        return tuple(map(fold, written_words(text))) == self.words
