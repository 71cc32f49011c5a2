"""Fold text and split it into words, for writing, indexing and ranking alike.

This runs on every write and every query, so it uses only regular expressions and sets. All languages
are processed together: people mix them in one sentence.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import chain
from typing import Final

from hippocampe.language.lexicon import any_of, languages, load, table_of, words_of
from hippocampe.language.text_cache import text_cache

_APOSTROPHES: Final = "’‘ʼ´`′"
_LIGATURES: Final = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l"} | dict.fromkeys(
    _APOSTROPHES, "'"
)
_LIGATURE: Final = re.compile(f"[{''.join(_LIGATURES)}]")  # ten times faster than `translate`
CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters except tab and line ends, for use inside a character class."""
_CONTROL: Final = re.compile(f"[{CONTROLS}]")
_LATIN_MARKS: Final = re.compile("[\u0300-\u036f]+")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_WORD: Final = re.compile(r"[^\W_]+")
# Without this, elided words ("l'", "qu'") and clitics ("'s", "'ll") become one-letter words.
ELIDED: Final = "|".join(table_of("elided"))
"""Words shortened by an apostrophe, as regular expression alternatives."""
_ELISION: Final = re.compile(
    rf"\b(?:{ELIDED})'(?=[^\W\d_])|(?<=[^\W\d_])'{any_of(table_of('clitics'))}\b"
)
_ELISION_ANY_CASE: Final = re.compile(_ELISION.pattern, re.IGNORECASE)
APOSTROPHE: Final = re.compile(f"[{_APOSTROPHES}]")
"""Every character typed as an apostrophe, except the ASCII one."""
_NEGATION: Final = re.compile(r"\b([a-z]+)n't\b")
_MAX_WORD_LENGTH: Final = 24
_LETTERS: Final = re.compile(r"[^\W\d_]+")
LONGEST_CODE: Final = 3
"""Letters of the longest word in capitals that is rather a code than a word."""
NO_TITLE: Final = "".join(rf"(?<!\b{title}\.)" for title in sorted(words_of("titles")))
"""Assertion, as a regular expression, that no abbreviated title ends here: "Dr."."""
_PRONOUNS: Final = "|".join(
    sorted(
        word.capitalize() for word in words_of("speaker") | words_of("others") | words_of("group")
    )
)
_LISTED: Final = "|".join(
    rf"(?<=\b[A-ZÀ-Þ] {word} [A-ZÀ-Þ]\.)" for word in sorted(words_of("union"))
)
_NO_INITIAL: Final = rf"(?:(?<!\b[A-ZÀ-Þ]\.)|{_LISTED}|(?=\s+(?:{_PRONOUNS})\b))"
"""The same of an initial: "J. Sasikumar", but not "zones A and B. Ann …" nor "vitamin C. It …"."""
# From the first space of several on only: otherwise a run of spaces takes quadratic time.
SENTENCE_END: Final = re.compile(rf"(?<=[.!?…]){NO_TITLE}{_NO_INITIAL}\s+|(?<!\s)\s*\n\s*")
"""The space between two sentences."""
_STOP: Final = re.compile(r"(?<=[^\W_]{2})\.\s*$")
_CLAUSE_END: Final = re.compile(r"(?<=[,;:])\s+")
LONGEST_CLAUSE: Final = 30
"""Words between two marks; where there are more, people dictate, or type without marks."""


def _joint(language: str) -> re.Pattern[str]:
    """The expression of the space in front of words that link a further statement: "he left| and then she rang"."""
    markers = {name: any_of(each) for name, each in load(language, "words")["discourse"].items()}
    link = rf"\b{markers['links']}\s+"
    verb = any_of(sorted(words_of("grammar.auxiliary", language=language)))
    further = any_of((markers["subjects"], markers["asking"], rf"(?:[^\W\d_]+\s+){{1,2}}{verb}\b"))
    return re.compile(rf"((?<!\s)\s+|\A)(?:(?:{link}){{2,}}|{link}(?={further}))", re.IGNORECASE)


_JOINTS: Final = [_joint(each) for each in languages()]


def truncated(text: str, length: int) -> str:
    """Return the beginning of a text, at most `length` characters; the last word may be cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def shortened(text: str, length: int) -> str:
    """Return the beginning of a text, at most `length` characters and an ellipsis, cut between words if it has some."""
    if len(text) <= length:
        return text
    beginning = text[:length]
    return (beginning.rpartition(" ")[0] or beginning).rstrip(" ,;:\n") + "…"


def heading(text: str, length: int) -> str:
    """Return the beginning of a text on one line, `shortened`."""
    return shortened(" ".join(text.split()), length)


def without_capitals(text: str) -> str:
    """Return a text that is all in capitals ("WHO HAS THE KEYS?") in small letters; others, and a short code, as they are."""
    if text.isupper() and max(map(len, _LETTERS.findall(text)), default=0) > LONGEST_CODE:
        return text.lower()
    return text


def without_stop(text: str) -> str:
    """Return a statement without its full stop, which tells nothing, and without which many people write; "7 p.m." keeps it."""
    return _STOP.sub("", text)


def with_stop(text: str) -> str:
    """Return a statement that ends without a mark with a full stop."""
    return f"{text}." if text[-1:].isalnum() else text


def fold(text: str) -> str:
    """Lowercase `text`, strip accents, expand ligatures and normalise apostrophes.

    Letters of other scripts are kept. Search treats texts that fold alike as equal.
    """
    lowered = text.lower()
    if lowered.isascii():
        return lowered.replace("`", "'")
    return _fold(lowered)


@text_cache(20_000, longest=_MAX_WORD_LENGTH)
def _fold(lowered: str) -> str:
    unbound = _LIGATURE.sub(lambda found: _LIGATURES[found[0]], lowered)
    decomposed = unicodedata.normalize("NFKD", unbound)
    folded = _LATIN_MARKS.sub("", decomposed)
    if folded.isascii():
        # Decomposition can produce capitals and quotes: "𝕊" becomes "S".
        return folded.lower().replace("`", "'")
    marks = {c for c in set(_BEYOND_ASCII.findall(folded)) if unicodedata.combining(c)}
    folded = "".join(c for c in folded if c not in marks) if marks else folded
    return folded if folded == lowered else fold(folded)


STOP_WORDS: Final = words_of("stop")
STOP_OF: Final = {each: words_of("stop", language=each) for each in languages()}
"""The words of each language that mean little by themselves; "car" is one in French only."""
_ARTICLE_OF: Final = {
    word: each
    for each in languages()
    for word in words_of("articles", language=each) | words_of("possessives", language=each)
    if not any(word in stop for other, stop in STOP_OF.items() if other != each)
}
"""The language of each article and possessive that no other language has."""
_ACCENTED: Final = words_of("accented")
_BEEN: Final = words_of("been")
"""Rarely a summer."""
_LONGEST_TOLD: Final = 3
_SHORT_WORD: Final = re.compile(
    rf"(?<!\w)(?:(?:{ELIDED})')?([^\W\d_]{{2,{_LONGEST_TOLD}}})(?!\w)", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order; of one that runs on without marks, as people dictate, the statements."""
    told = (each for each in SENTENCE_END.split(text.strip()) if each)
    return [part for each in told for part in _statements(each)]


def _statements(sentence: str) -> list[str]:
    if all(len(clause.split()) <= LONGEST_CLAUSE for clause in clauses(sentence)):
        return [sentence]
    found = {each.span(1) for joint in _JOINTS for each in joint.finditer(sentence)}
    spaces = sorted(each for each in found if each[0])
    starts, stops = [0, *(stop for _, stop in spaces)], [start for start, _ in spaces]
    return [sentence[start:stop] for start, stop in zip(starts, [*stops, None], strict=True)]


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence, which a comma, a semicolon or a colon ends."""
    return _CLAUSE_END.split(sentence)


def without_control(text: str) -> str:
    """Remove control characters from `text`, except tab and line ends."""
    return _CONTROL.sub("", text)


def without_lone_surrogates(text: str) -> str:
    """Join the pairs of surrogates of `text`, and replace the others: halves of emoji that a program cut."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_ESCAPE = re.compile(
    r"(\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\(?!u[dD][89a-fA-F]).)|\\u[\da-fA-F]{4}"
)
"""An escape in JSON; the group has it unless it is half of an emoji."""


def without_lone_escapes(json: str) -> str:
    """Replace halves of emoji in JSON text, which some parsers refuse."""
    return _ESCAPE.sub(lambda found: found[1] or "\\ufffd", json)


def words(text: str) -> list[str]:
    """Return the folded words of `text` in order, with repeats.

    Elisions and clitics are dropped ("l'épaule" → `epaule`, "David's" → `david`), "n't" becomes
    `not`, and hyphens separate ("est-ce" → `est`, `ce`).
    """
    folded = fold(text)
    if "'" in folded:
        if "n't" in folded:
            folded = _NEGATION.sub(r"\1 not", folded)
        folded = _ELISION.sub(" ", folded)
    return _WORD.findall(folded)


def is_told_by_accent(written: str) -> bool:
    """Return whether an accent is all that tells a short word from a function word: "thé" from "the", "né" from "ne"."""
    lowered, folded = written.lower(), fold(written)
    short = len(folded) <= _LONGEST_TOLD and folded.isascii() and not lowered.isascii()
    return short and folded in STOP_WORDS and lowered not in _ACCENTED


def words_by_accent(text: str) -> list[str]:
    """Return the `words` of `text`, as written where an accent is all that tells one from a function word."""
    if text.isascii():
        return words(text)
    found: list[str] = []
    composed, at = APOSTROPHE.sub("'", unicodedata.normalize("NFC", text)), 0
    for match in _SHORT_WORD.finditer(composed):
        if is_told_by_accent(match[1]) and match[1].lower() not in _BEEN:
            found += (*words(composed[at : match.start()]), match[1].lower())
            at = match.end()
    return [*found, *words(composed[at:])]


def written_words(text: str) -> list[str]:
    """Return the words of `text` in order, as written, without elisions and clitics."""
    composed = APOSTROPHE.sub("'", unicodedata.normalize("NFC", text))
    return _WORD.findall(_ELISION_ANY_CASE.sub(" ", composed))


def keywords(text: str) -> list[str]:
    """Return the words of `text` without stop words, or all words if only stop words remain."""
    found = words_by_accent(text)
    before = chain(("",), found)
    return [
        word
        for article, word in zip(before, found, strict=False)
        if word not in STOP_WORDS or _is_noun(article, word)
    ] or found


def _is_noun(article: str, word: str) -> bool:
    """Return whether a function word of one language is a noun of another, by what precedes it: "my car", "mon but"."""
    return article in _ARTICLE_OF and word not in STOP_OF[_ARTICLE_OF[article]]


def content_words(text: str) -> list[str]:
    """Return the distinct `keywords` of `text`, in order."""
    return list(dict.fromkeys(keywords(text)))


def cut(text: str, longest: int) -> str:
    """A text, or the beginning and the end of a long one, where a question usually is."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} {text[len(text) - half + 1 :]}"
