"""Words, folding and small tests on a text, shared by writing, indexing and ranking.

Everything here is pure and runs on each write and each query, so it is regular expressions and
sets only. French and English are treated as one language: people mix them in one sentence.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal

Language = Literal["fr", "en"]

_LIGATURES: Final = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l"} | dict.fromkeys(
    "’‘ʼ´`′", "'"
)
_LIGATURE: Final = re.compile(f"[{''.join(_LIGATURES)}]")  # a tenth of the time of `translate`
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LATIN_MARKS: Final = re.compile("[\u0300-\u036f]+")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_ACCENTED: Final = re.compile("[àâçéèêëîïôùûœ]")
_WORD: Final = re.compile(r"[^\W_]+")
# The elided word of a French pair ("l'", "qu'") and the clitic of an English one ("'s", "'ll")
# would otherwise become one-letter words.
_ELISION: Final = re.compile(
    r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|presqu)'(?=[^\W\d_])"
    r"|(?<=[^\W\d_])'(?:s|re|ve|ll|d|m)\b"
)
_ELISION_ANY_CASE: Final = re.compile(_ELISION.pattern, re.IGNORECASE)
_APOSTROPHE: Final = re.compile("[’‘ʼ´`′]")
_NEGATION: Final = re.compile(r"\b(ca|wo|sha|[a-z]+)n't\b")

STOP_WORDS: Final[frozenset[str]] = frozenset(
    # French, folded.
    "a ai aie aient ait alors as au aucun aucune aussi autre autres aux avaient avais avait avant "
    "avec avez avoir avons ayant c ca car ce ceci cela celle celles celui ces cet cette ceux chez "
    "ci comme d dans de des deja depuis donc dont du elle elles en encore entre es est et etaient "
    "etais etait etant ete etes etre eu eux fait faire fois font fut furent ici il ils j je jusqu "
    "l la le les leur leurs lors lui m ma mais me meme memes mes mien moi mon n ne ni non nos "
    "notre nous on ont ou par parce pas peu peut plus plusieurs pour pourquoi pourrait puis qu "
    "quand que quel quelle quelles quels quelque quelques qui quoi s sa sans se selon sera serait "
    "ses si sien soi soit son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres "
    "tu un une va vais vers vos votre vous y combien comment lequel laquelle lesquels lesquelles "
    # English, folded.
    "about above after again against all also am an and any are as at be because been before being "
    "below between both but by can cannot could did do does doing down during each few for from "
    "further had has have having he her here hers herself him himself his how i if in into is it "
    "its itself just let me more most my myself no nor not now of off once only or other our ours "
    "out over own same she should so some such than that the their theirs them themselves then "
    "there these they this those through to too under until up us very was we were what when where "
    "which while who whom whose why will with would you your yours yourself d ll m re ve".split()
)
_FRENCH_ONLY: Final = frozenset(
    "au aux avec ce ces cette chez dans de des du elle elles en est et etait etre fait il ils je la "
    "le les leur lui ma mais mes moi mon ne nous ont ou par pas pour quand que quel quelle qui quoi "
    "sa ses son sont suis sur ta tu un une vous y combien comment ou salut bonjour merci oui".split()
)
_ENGLISH_ONLY: Final = frozenset(
    "about and are at be because been but by can could did do does for from had has have he her "
    "his how i in is it its my not of our she that the their them they this to was we were what "
    "when where which who why will with would you your hello hi thanks yes".split()
)

_OPENS_QUESTION: Final = re.compile(
    r"^(?:and |but |so |et |mais |alors |dis |hey |hi |salut )*[,\s]*"
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|am|was|were|do|does|did|can|could|will"
    r"|would|should|has|have|had|qui|que|quand|quoi|pourquoi|comment|combien|quel|quelle|quels"
    r"|quelles|lequel|laquelle|est-ce|es-tu|as-tu|qu'est-ce|qu'as|d'ou|depuis quand|ou (?:est|sont"
    r"|se|va|vas|habite|travaille|etait|vit))\b"
)
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|me|my|mine|we|our|us|je|j|moi|mon|ma|mes|nous|notre|nos)\b"
)
_SPEAKER: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|je|j|moi|mon|ma|mes|mienn?e?s?)\b|\bm'(?=\w)"
)
_ADDRESSEE: Final = re.compile(
    r"\b(?:you|your|yours|yourself|tu|te|t|toi|ton|ta|tes|tienn?e?s?|vous|votre|vos)\b"
)
_REQUEST: Final = re.compile(
    r"\b(?:(?:tell|remind|show|give|let|help) me|i(?: want|'d like| would like)? to know|i wonder"
    r"|(?!chez)\w+-moi|(?:di[st]|rappelle|donne|montre|explique|raconte|aide)[sz]? moi|(?:me|m') ?(?:dire|rappeler"
    r"|donner|montrer|expliquer|raconter|aider)|je (?:veux|voudrais|aimerais) savoir|je me demande)\b"
)
"""Words by which a question asks to be answered: they do not make it one about the asker."""
_COUNTRY: Final = re.compile(r"\bUS\b")
_IDIOMS: Final = (
    (re.compile(r"\bfor a living\b", re.IGNORECASE), "as a job"),
    (re.compile(r"\bdans la vie\b", re.IGNORECASE), "comme métier"),
)
"""Where the words of a question mislead: who asks what one does "for a living" asks of no life."""
_DIGIT: Final = re.compile(r"\d")
_NUMBER_WORD: Final = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred"
    r"|thousand|couple|dozen|twice|deux|trois|quatre|cinq|sept|huit|dix|onze|douze|quinze"
    r"|vingt|trente|cent|cents|mille|douzaine)\b"
)
_DATE: Final = re.compile(
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre|decembre"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|lundi|mardi|mercredi|jeudi"
    r"|vendredi|samedi|dimanche|yesterday|today|tonight|tomorrow|hier|aujourd'hui|demain|avant-hier"
    r"|(?:1[0-9]|20)\d\d|\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{2,4})?"
    r"|(?:last|next|this|past|few) (?:week|weekend|month|year|night|summer|winter|spring|fall|days?)s?"
    r"|(?:week|weekend|month|year|day)s? ago|since \d"
    r"|(?:semaine|mois|annee|an|ete|hiver|week-end|weekend) (?:derniere?|prochaine?|passee?)"
    r"|il y a (?:\d|un|une|deux|trois|quelques))\b"
)

# A capital after a preposition, as in "à Pau" and "in Leeds", or a word for being somewhere.
_PLACE: Final = re.compile(
    r"\b(?:[àÀ]|[Aa]ux?|[Ee]n|[Dd]ans|[Vv]ers|[Pp]r[eè]s d[eu]|[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear)"
    r" (?:l[ae]s? |l['’]|the )?[A-ZÀ-Ý]"
    r"|\b(?:dans|chez|sous|derri[eè]re|devant|rue|place|quartier|inside|under|behind|above|street"
    r"|road|upstairs|downstairs|next to|next door)\b"
)

_MONTHS: Final[dict[Language, tuple[str, ...]]] = {
    "fr": (
        *("janvier", "février", "mars", "avril", "mai", "juin"),
        *("juillet", "août", "septembre", "octobre", "novembre", "décembre"),
    ),
    "en": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
}


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


_LONGEST_WORD: Final = 24
_fold_word = lru_cache(maxsize=20_000)(_fold)
_fold_text = lru_cache(maxsize=16)(_fold)  # a text is folded several times in a row


def clear_caches() -> None:
    """Drop the cached texts of the process: an erased one must not stay."""
    for cached in (_fold_word, _fold_text):
        cached.cache_clear()


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
    """Whether `text` states a quantity, in digits or as a French or English number word."""
    return _DIGIT.search(text) is not None or _NUMBER_WORD.search(fold(text)) is not None


def has_date(text: str) -> bool:
    """Whether `text` says when: a month, weekday, year, date, or a word such as "hier"."""
    return _DATE.search(fold(text)) is not None


def has_place(text: str) -> bool:
    """Whether `text` says where: "à Pau", "in Leeds", "derrière la grange"."""
    return _PLACE.search(text) is not None


def guess_language(text: str, default: Language = "fr") -> Language:
    """French or English, from function words and accents; `default` when nothing tells."""
    found = words(text)
    french = sum(map(_FRENCH_ONLY.__contains__, found))
    english = sum(map(_ENGLISH_ONLY.__contains__, found))
    # Accents are rare in English, and elisions ("l'", "j'") leave no word to count.
    french += _ACCENTED.search(text.lower()) is not None
    if french == english:
        return default
    return "fr" if french > english else "en"


def embedding_text(content: str, author: str | None = None, at: datetime | None = None) -> str:
    """The text whose vector stands for `content`: "author (8 May 2023): content".

    Time and author inside the text help a sentence embedder to tell turns apart. An author already
    written in front of the content ("Ana: hello") is not doubled.
    """
    if author and fold(content).startswith(fold(author) + ":"):
        content = content[len(author) + 1 :].lstrip()
    label = author or ""
    if at is not None:
        month = _MONTHS[guess_language(content, default="en")][at.month - 1]
        label = f"{label} ({at.day} {month} {at.year})".lstrip()
    return f"{label}: {content}" if label else content


def is_first_person(text: str) -> bool:
    """Whether `text` speaks of its speaker: "je", "mon", "I", "we"."""
    return _FIRST_PERSON.search(fold(_COUNTRY.sub("", text))) is not None


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
