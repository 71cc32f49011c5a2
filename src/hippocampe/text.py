"""Words, folding and small tests on a text, shared by writing, indexing and ranking.

Everything here is pure and runs on each write and each query, so it is regular expressions and
sets only. All languages are treated as one: people mix them in one sentence.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from typing import Final

from hippocampe.language.lexicon import languages, mapping, of, together
from hippocampe.language.lexicon import words as words_of

Language = str
"""The code of a language: "fr"."""

_LIGATURES: Final = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l"} | dict.fromkeys(
    "’‘ʼ´`′", "'"
)
_LIGATURE: Final = re.compile(f"[{''.join(_LIGATURES)}]")  # a tenth of the time of `translate`
CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters but tab and line ends, as the inside of a character class."""
_CONTROL: Final = re.compile(f"[{CONTROLS}]")
_LATIN_MARKS: Final = re.compile("[\u0300-\u036f]+")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_WORD: Final = re.compile(r"[^\W_]+")
# The elided word of a French pair ("l'", "qu'") and the clitic of an English one ("'s", "'ll")
# would otherwise become one-letter words.
ELIDED: Final = "|".join(mapping("elided"))
"""The words that an apostrophe shortens, as an expression."""
_ELISION: Final = re.compile(
    rf"\b(?:{ELIDED})'(?=[^\W\d_])|(?<=[^\W\d_])'(?:{'|'.join(mapping('clitics'))})\b"
)
_ELISION_ANY_CASE: Final = re.compile(_ELISION.pattern, re.IGNORECASE)
_APOSTROPHE: Final = re.compile("[’‘ʼ´`′]")
_NEGATION: Final = re.compile(r"\b([a-z]+)n't\b")
_LONGEST_WORD: Final = 24


def fold(text: str) -> str:
    """Lowercase `text`, without accents, with plain apostrophes and without ligatures.

    Letters of other scripts are kept. Two texts that fold alike are the same to every search.
    """
    lowered = text.lower()
    if lowered.isascii():
        return lowered.replace("`", "'")
    return _fold_word(lowered) if len(lowered) <= _LONGEST_WORD else _fold_text(lowered)


def _fold(lowered: str) -> str:
    unbound = _LIGATURE.sub(_ligature, lowered)
    decomposed = unicodedata.normalize("NFKD", unbound)
    folded = _LATIN_MARKS.sub("", decomposed)
    if folded.isascii():
        # Decomposing may bring capitals and quotes back: "𝕊" is an "S".
        return folded.lower().replace("`", "'")
    marks = {c for c in set(_BEYOND_ASCII.findall(folded)) if unicodedata.combining(c)}
    folded = "".join(c for c in folded if c not in marks) if marks else folded
    return folded if folded == lowered else fold(folded)


def _ligature(match: re.Match[str]) -> str:
    return _LIGATURES[match[0]]


_fold_word = lru_cache(maxsize=20_000)(_fold)
_fold_text = lru_cache(maxsize=16)(_fold)  # a text is folded several times in a row


def clear_caches() -> None:
    """Drop the cached texts of the process: an erased one must not stay."""
    for cached in (_fold_word, _fold_text):
        cached.cache_clear()


def _stated_dates() -> re.Pattern[str]:
    time = together("time")
    full = {fold(name) for names in MONTH_NAMES.values() for name in names}
    days = [name for names in time["days"].values() for name in names if " " not in name]
    named = {*full - words_of("stated.not_dates", file="time"), *time["weekdays"].split(), *days}
    numbers = (r"(?:1[0-9]|20)\d\d", r"\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{2,4})?")
    return re.compile(rf"\b(?:{'|'.join((*sorted(named), *numbers, *time['stated']['dates']))})\b")


def _places() -> re.Pattern[str]:
    """A capital after a preposition, as in "à Pau" and "in Leeds", or a word for being somewhere."""
    data = together("words")
    before = "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in data["before_place"])
    articles, places = "|".join(data["place_articles"]), "|".join(data["places"])
    return re.compile(rf"\b(?:{before}) (?:{articles})?[A-ZÀ-Ý]|\b(?:{places})\b")


STOP_WORDS: Final = words_of("stop")
MONTH_NAMES: Final = {
    each: [names.split()[0] for names in of(each, "time")["months"]] for each in languages()
}
"""The months of each language as they are written, in order."""
MONTHS: Final = {
    fold(name): number
    for each in languages()
    for number, names in enumerate(of(each, "time")["months"], start=1)
    for name in names.split()
}
"""The number of each month by its folded names and abbreviations."""
NUMBERS: Final = {
    word: int(value)
    for value, names in together("words")["numbers"].items()
    for word in names.split()
}
"""The value of each number word, folded."""
ORDINALS: Final = "|".join(sorted(words_of("expressions.ordinals", file="time")))
"""What follows the number of a day ("1er", "2nd"), as an expression."""
_TELLING: Final = {
    each: (words_of("telling", language=each), re.compile(f"[{letters}]" if letters else "(?!)"))
    for each in languages()
    for letters in (of(each, "words")["letters"],)
}
_QUESTIONS: Final = together("questions")
_OPENS_QUESTION: Final = re.compile(
    rf"^(?:(?:{'|'.join(_QUESTIONS['fillers'].split())}) )*[,\s]*(?:{'|'.join(_QUESTIONS['openers'])})\b"
)
_FIRST_PERSON: Final = re.compile(rf"\b(?:{'|'.join(sorted(words_of('first_person')))})\b")
_SPEAKER: Final = re.compile(rf"\b(?:{'|'.join(together('words')['one_speaker'])})\b")
_ADDRESSEE: Final = re.compile(rf"\b(?:{'|'.join(together('words')['addressee'])})\b")
_REQUEST: Final = re.compile(rf"\b(?:{'|'.join(_QUESTIONS['requests'])})\b")
"""Words by which a question asks to be answered: they do not make it one about the asker."""
_NOT_FIRST_PERSON: Final = re.compile(rf"\b(?:{'|'.join(sorted(words_of('not_first_person')))})\b")
_IDIOMS: Final = tuple(
    (re.compile(rf"\b{idiom}\b", re.IGNORECASE), meant)
    for idiom, meant in mapping("idioms", file="questions").items()
)
_DIGIT: Final = re.compile(r"\d")
_NUMBER_WORD: Final = re.compile(rf"\b(?:{'|'.join(sorted(words_of('quantities')))})\b")
_DATE: Final = _stated_dates()
_PLACE: Final = _places()


def without_control(text: str) -> str:
    """`text` without control characters but tab and line ends: no database and no reader wants them."""
    return _CONTROL.sub("", text)


def words(text: str) -> list[str]:
    """The folded words of `text` in order, repeats kept.

    Elisions and clitics are dropped ("l'épaule" → `epaule`, "David's" → `david`), "n't" becomes
    `not`, and hyphens separate ("est-ce" → `est`, `ce`).
    """
    folded = fold(text)
    if "'" in folded:
        if "n't" in folded:
            folded = _NEGATION.sub(r"\1 not", folded)
        folded = _ELISION.sub(" ", folded)
    return _WORD.findall(folded)


def written_words(text: str) -> list[str]:
    """The words of `text` in order, as they are written; elisions and clitics are dropped."""
    composed = _APOSTROPHE.sub("'", unicodedata.normalize("NFC", text))
    return _WORD.findall(_ELISION_ANY_CASE.sub(" ", composed))


def plain(question: str) -> str:
    """`question` with idioms said in plain words: "for a living" as "as a job"."""
    for idiom, meant in _IDIOMS:
        question = idiom.sub(meant, question)
    return question


def keywords(text: str) -> list[str]:
    """The words of `text` in order, repeats kept, without stop words unless nothing else remains."""
    found = words(text)
    return [word for word in found if word not in STOP_WORDS] or found


def content_words(text: str) -> list[str]:
    """The distinct `keywords` of `text`, in order."""
    return list(dict.fromkeys(keywords(text)))


def is_question(text: str) -> bool:
    """Whether `text` asks something: a question mark, or a question word or verb in front."""
    return "?" in text or _OPENS_QUESTION.match(fold(text.strip())) is not None


def has_number(text: str) -> bool:
    """Whether `text` states a quantity, in digits or as a number word."""
    return _DIGIT.search(text) is not None or _NUMBER_WORD.search(fold(text)) is not None


def has_date(text: str) -> bool:
    """Whether `text` says when: a month, weekday, year, date, or a word such as "hier"."""
    return _DATE.search(fold(text)) is not None


def has_place(text: str) -> bool:
    """Whether `text` says where: "à Pau", "in Leeds", "derrière la grange"."""
    return _PLACE.search(text) is not None


def guess_language(text: str, default: Language = "fr") -> Language:
    """The language, from function words and letters; `default` when nothing tells."""
    found, lowered = words(text), text.lower()
    scores = {
        # Elisions ("l'", "j'") leave no word to count, but its accents give a language away.
        language: sum(map(telling.__contains__, found)) + (letters.search(lowered) is not None)
        for language, (telling, letters) in _TELLING.items()
    }
    best = max(scores.values())
    leading = [language for language, score in scores.items() if score == best]
    return leading[0] if len(leading) == 1 else default


def embedding_text(content: str, author: str | None = None, at: datetime | None = None) -> str:
    """The text whose vector stands for `content`: "author (8 May 2023): content".

    Time and author inside the text help a sentence embedder to tell turns apart. An author already
    written in front of the content ("Ana: hello") is not doubled.
    """
    if author and fold(content).startswith(fold(author) + ":"):
        content = content[len(author) + 1 :].lstrip()
    label = author or ""
    if at is not None:
        month = MONTH_NAMES[guess_language(content, default="en")][at.month - 1]
        label = f"{label} ({at.day} {month} {at.year})".lstrip()
    return f"{label}: {content}" if label else content


def is_first_person(text: str) -> bool:
    """Whether `text` speaks of its speaker: "je", "mon", "I", "we"."""
    return _FIRST_PERSON.search(fold(_NOT_FIRST_PERSON.sub("", text))) is not None


def is_about_speaker(text: str) -> bool:
    """Whether `text` speaks of its one speaker: "my dog", "j'ai", but not "our dog" or "tell me"."""
    return _SPEAKER.search(_REQUEST.sub("", fold(text))) is not None


def is_to_somebody(text: str) -> bool:
    """Whether `text` speaks of the one it is said to: "you", "ton"."""
    return _ADDRESSEE.search(fold(text)) is not None


def traits(text: str) -> int:
    """What `text` is, as bits: 1 asks, 2 states a quantity, 4 says when, 8 says where."""
    tests = (is_question, has_number, has_date, has_place)
    return sum(test(text) << bit for bit, test in enumerate(tests))
