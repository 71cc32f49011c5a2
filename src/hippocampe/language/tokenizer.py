"""Split a sentence into words with their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hippocampe.language.detect import language_of
from hippocampe.language.lexicon import table_of, words_of
from hippocampe.language.text import (
    APOSTROPHE,
    ELIDED,
    LONGEST_CODE,
    STOP_OF,
    STOP_WORDS,
    fold,
    is_told_by_accent,
)
from hippocampe.language.text_cache import text_cache

TOKEN: Final = re.compile(
    r"(?:(?<!\S)[-+])?\d+(?:[.,:/-]\d+|'\d\d?(?!\d))*\w*"  # a number, date, time or height with its inner signs
    r"|[^\W\d_]\w*(?:'\w+)*[+#]*"  # "C++" and "C#" are not "C"
    r"|[^\w\s]"
)

_ELIDED: Final = re.compile(rf"({ELIDED})'(?=\w)")
_ELISIONS: Final = table_of("elided")
_CLITICS: Final = table_of("clitics")
_CONTRACTIONS: Final = table_of("contracted")
_IS_CLITIC_AFTER: Final = words_of("is_after")
_NEVER_EXPANDED: Final = words_of("whole")
_MEANINGFUL_SIGNS: Final = frozenset("=<>%&+#@")
_STRESSED: Final = words_of("grammar.negation")
"""Words that people write in capitals for stress: "I do NOT smoke"."""
_BEFORE_NOUN: Final = words_of("grammar.at") | words_of("grammar.be") | words_of("determiners")
_THOUSANDS: Final = re.compile(r"[-+]?\d{1,3}(?:[.,]\d{3})+")


class Word(NamedTuple):
    """One word of a sentence.

    Attributes:
        norm: Folded form, used for comparison; a name in capitals that folds to a function word keeps them ("EST", "IT").
        surface: Form as written.
        glued: Whether a hyphen joins it to the previous word.
        pause: Whether a comma or similar punctuation precedes it.
        opens: Whether it opens a sentence.
    """

    norm: str
    surface: str
    glued: bool = False
    pause: bool = False
    opens: bool = False

    @property
    def capital(self) -> bool:
        """Return whether the word is written with a capital."""
        return self.surface[:1].isupper()


@text_cache(1024)
def tokenize(text: str) -> tuple[Word, ...]:
    """Return the words of `text` without punctuation; elisions and contractions are expanded."""
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
        if norm in STOP_WORDS and _is_code(token, norm, plain, match.start(), found):
            norm = token
        if norm.isalpha() and norm != "cannot":
            found.append(Word(norm, token, glued, pause, opens))
            pause = opens = False
            continue
        for surface, norm in _expand(token):
            found.append(Word(norm, surface, glued, pause, opens))
            pause = opens = glued = False
    return tuple(found)


def _is_code(token: str, norm: str, text: str, at: int, before: Sequence[Word]) -> bool:
    """Return whether a function word is a name in capitals, such as "EST", "UN" or "IT", rather than a stressed word.

    Of the language of the text, it is one only where a noun stands: "in IT", "my time zone: EST".
    """
    if not (1 < len(token) <= LONGEST_CODE and token.isascii() and token.isupper()):
        return False
    if text.isupper() or norm in _STRESSED:
        return False
    if norm not in STOP_OF[language_of(text)]:
        return True
    labelled = text[:at].rstrip().endswith(":")
    return labelled or (bool(before) and before[-1].norm in _BEFORE_NOUN)


def _ends_sentence(text: str, at: int, words: Sequence[Word]) -> bool:
    """Return whether the sign ends a sentence: not in "one.example", nor after "St." or "J."."""
    short = bool(words) and words[-1].capital and len(words[-1].surface) <= 2
    return not short and text[at + 1 : at + 2] in ("", " ", "\n", "\t")


def is_meaningful(sign: str) -> bool:
    """Return whether a sign carries meaning, like emoji and currencies, and unlike punctuation."""
    return sign in _MEANINGFUL_SIGNS or unicodedata.category(sign) in ("So", "Sc")


def _expand(token: str) -> Iterator[tuple[str, str]]:
    """Expand one token into words, each as written and folded."""
    norm = fold(token)
    if norm[:1].isdigit() or norm[:1] in "-+":
        thousands = _THOUSANDS.fullmatch(norm)
        yield token, re.sub(r"[.,]", "", norm) if thousands else norm.replace(",", ".")
        return
    while norm not in _NEVER_EXPANDED and (elided := _ELIDED.match(norm)):
        head = elided[1]
        yield token[: len(head)], _ELISIONS[head]
        token, norm = token[len(head) + 1 :], norm[len(head) + 1 :]
    if norm == "cannot" or norm.endswith("n't"):
        yield token, _CONTRACTIONS.get(norm, norm[:-3])
        yield token[-1:], "not"
        return
    base, mark, clitic = norm.partition("'")
    if not mark or norm in _NEVER_EXPANDED:
        yield token, norm
        return
    yield token[: len(base)], base
    if clitic == "s":
        yield "'s", "is" if base in _IS_CLITIC_AFTER else "'s"
    else:
        for part in clitic.split("'"):
            yield part, _CLITICS.get(part, part)


def told_by_accent(word: Word) -> Word:
    """Return a short word as written where an accent is all that tells it from a function word: "né" from "ne"."""
    told = is_told_by_accent(word.surface)
    return word._replace(norm=word.surface.lower()) if told else word
