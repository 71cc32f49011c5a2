"""Whether a text names someone: names are told from common words by their capital. Pure."""

from dataclasses import dataclass

from hippocampe.text import fold, written_words


@dataclass(frozen=True, slots=True)
class ProperName:
    """A name of one or more words, to be found in what people write.

    A text holds the name if it has its words in a row, up to accents, one of them with a capital:
    "Rose" is in "Rose est ma voisine" and "ROSE !", not in "le vin rose". A capital that only opens
    a sentence counts too. A name in a script without capitals is found as it is. The case in which
    the name itself is given does not matter.

    Attributes:
        words: Its folded words.
        cased: Whether its script has capitals.
    """

    words: tuple[str, ...]
    cased: bool

    @classmethod
    def of(cls, name: str) -> "ProperName":
        """The name as given: "rose" is the same as "Rose"."""
        return cls(tuple(map(fold, written_words(name))), name.lower() != name.upper())

    def is_in(self, text: str) -> bool:
        """Whether the text holds the name."""
        folded = fold(text)
        # Most texts hold none of it, and cutting a text into words takes ten times as long.
        if not self.words or not all(word in folded for word in self.words):
            return False
        written = written_words(text)
        read = tuple(map(fold, written))
        size = len(self.words)
        return any(
            read[start : start + size] == self.words
            and (not self.cased or any(w != w.lower() for w in written[start : start + size]))
            for start in range(len(read) - size + 1)
        )

    def is_whole(self, text: str) -> bool:
        """Whether the text is the name and nothing else, in any case."""
        return tuple(map(fold, written_words(text))) == self.words
