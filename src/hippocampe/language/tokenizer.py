"""Split a sentence into words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hippocampe.language.lexicon import mapping
from hippocampe.language.lexicon import words as words_of
from hippocampe.language.text import ELIDED, fold

TOKEN: Final = re.compile(
    r"(?:(?<!\S)[-+])?\d+(?:[.,:/-]\d+)*\w*"  # a number, date or time keeps its inner signs
    r"|[^\W\d_]\w*(?:'\w+)*[+#]*"  # "C++" and "C#" are not "C"
    r"|[^\w\s]"
)


APOSTROPHE: Final = re.compile("[’‘ʼ´`′]")


_ELIDED: Final = re.compile(rf"({ELIDED})'(?=\w)")


_ELIDED_TO: Final = mapping("elided")


_CLITIC: Final = mapping("clitics")


_CONTRACTED: Final = mapping("contracted")


_IS_AFTER: Final = words_of("is_after")


_WHOLE: Final = words_of("whole")


_MEANINGFUL_SIGNS: Final = frozenset("=<>%&+#@")


_THOUSANDS: Final = re.compile(r"[-+]?\d{1,3}(?:[.,]\d{3})+")


class Word(NamedTuple):
    """One word as compared (`norm`) and as written; `glued` by a hyphen, `pause`: after a comma."""

    norm: str
    surface: str
    glued: bool = False
    pause: bool = False
    opens: bool = False

    @property
    def capital(self) -> bool:
        """Whether it is written with a capital."""
        return self.surface[:1].isupper()


@lru_cache(maxsize=1024)
def split(text: str) -> tuple[Word, ...]:
    """The words of `text`, punctuation dropped, elisions and contractions written out."""
    found: list[Word] = []
    plain = APOSTROPHE.sub("'", text)
    pause, opens, end = False, True, -1
    for match in TOKEN.finditer(plain):
        token = match.group()
        if len(token) == 1 and not token.isalnum() and not is_meaningful(token):
            pause = pause or token in ",;:()—–"
            opens = opens or (token in ".!?:" and _ends_sentence(plain, match.start(), found))
            continue
        start, last = match.start(), end
        end = match.end()
        glued = start == last + 1 and plain[last : last + 1] == "-"
        norm = fold(token)
        if norm.isalpha() and norm != "cannot":
            found.append(Word(norm, token, glued, pause, opens))
            pause = opens = False
            continue
        for surface, norm in _written_out(token):
            found.append(Word(norm, surface, glued, pause, opens))
            pause = opens = glued = False
    return tuple(found)


def _ends_sentence(text: str, at: int, words: Sequence[Word]) -> bool:
    """Not so in "one.example", nor after "St." or "J."."""
    short = bool(words) and words[-1].capital and len(words[-1].surface) <= 2
    return not short and text[at + 1 : at + 2] in ("", " ", "\n", "\t")


def is_meaningful(sign: str) -> bool:
    """Emoji, currencies and the like say something; commas and quotes do not."""
    return sign in _MEANINGFUL_SIGNS or unicodedata.category(sign) in ("So", "Sc")


def _written_out(token: str) -> Iterator[tuple[str, str]]:
    """The words that one token stands for, each as it is written and as it is compared."""
    norm = fold(token)
    if norm[:1].isdigit() or norm[:1] in "-+":
        thousands = _THOUSANDS.fullmatch(norm)
        yield token, re.sub(r"[.,]", "", norm) if thousands else norm.replace(",", ".")
        return
    while norm not in _WHOLE and (elided := _ELIDED.match(norm)):
        head = elided[1]
        yield token[: len(head)], _ELIDED_TO[head]
        token, norm = token[len(head) + 1 :], norm[len(head) + 1 :]
    if norm == "cannot" or norm.endswith("n't"):
        yield token, _CONTRACTED.get(norm, norm[:-3])
        yield token[-1:], "not"
        return
    base, mark, clitic = norm.partition("'")
    if not mark or norm in _WHOLE:
        yield token, norm
        return
    yield token[: len(base)], base
    if clitic == "s":
        yield "'s", "is" if base in _IS_AFTER else "'s"
    else:
        for part in clitic.split("'"):
            yield part, _CLITIC.get(part, part)
