"""The spelling of a query: capitals everywhere, typing errors, and names without a capital.

Search by words folds case and accents. The embedder and the reader see a text as it is written, and nothing finds a
misspelt word.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Final

from hippocampe.embed import tokens
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.errors import EmbedderUnavailable
from hippocampe.language.detect import language_of
from hippocampe.language.follow_ups import calls
from hippocampe.language.grammar import grammar
from hippocampe.language.lexicon import load, table_of
from hippocampe.language.mentions import ADDRESS
from hippocampe.language.questions import in_full
from hippocampe.language.subject_names import with_capital
from hippocampe.language.text import ELIDED, STOP_WORDS, fold, without_capitals
from hippocampe.language.topics import topics_of
from hippocampe.protocols import Filter
from hippocampe.store import memories, statements, turn_rows
from hippocampe.types import MEMORY_COLLECTIONS

SHORTEST: Final = 4
"""Letters of the shortest word that is corrected: shorter words have many neighbours."""
LONGEST: Final = 30
"""Letters of the longest word that is corrected: longer ones are no words, and have thousands of neighbours."""
LEAST_GAIN: Final = 2.0
"""Least difference of the log-probabilities of the corrected and the typed word."""
FEWEST_TOKENS: Final = 3
"""A word of fewer tokens is common: of its errors only swapped and doubled letters are corrected. With this and
`LEAST_GAIN`, `benchmarks/typed.py` finds one valid word in a thousand changed and six errors of ten corrected."""
NEWEST: Final = 3
"""Memories about a subject that tell how its name is written."""
MOST_NAMES: Final = 12
"""Words that may be names, of one query: each is looked up in the store."""
REPEATED: Final = 8
"""Texts that may have a typing error: somebody who makes it once makes it again, and what is asked is stored."""
MOST_CORRECTED: Final = 32
"""Words that may be errors, of one query: each is compared with hundreds of similar words."""

_WORD: Final = re.compile(rf"{ADDRESS.pattern}|(?<!\S)[^\s@]+@\S+|\b([^\W\d_]+)\b", re.IGNORECASE)
"""A word, or an address: its parts are not spelled."""
_GLUED: Final = re.compile(rf"({ELIDED})([aeiouyh]\w{{2,}})")
"""A folded word that may be two, without the apostrophe: "lheure"."""
_VOWEL: Final = re.compile("[aeiouyh]")
_ELIDED: Final = tuple(table_of("elided"))
_PRONOUNS: Final = tuple(table_of("glued"))
"""Shortened words before a vowel, and the pronouns that are written in one word with a consonant: no word begins so."""
_BEFORE_NOUNS: Final = frozenset({"definite", "of"})
_DETERMINERS: Final = frozenset({"definite", "indefinite", "own"})
"""Roles of words before a noun: no other such word comes in between."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def spelled(corpus: Corpus, query: str, space: str) -> str:
    """A query as the texts of its space are spelled.

    - Capitals alone ("WHO HAS THE KEYS?") become small letters; a short code stays.
    - A word that no memory or note of the space has becomes the word of the space that it was meant to be: "kyes", "keyys".
    - The name of a subject gets its capital, and the apostrophe of its possessive: "where is noras car?".
    - Words of questions typed in haste are written out: "whats", "koi".
    - An apostrophe that was left out is added: "lheure".
    """
    query = in_full(without_capitals(query))
    if _GLUED.search(fold(query)):
        query = _with_apostrophes(corpus, query, space)
    words = {fold(word): word for word in _WORD.findall(query) if word}
    words = {each: word for each, word in words.items() if each not in STOP_WORDS}
    try:
        users = _users(corpus, space, query, words)
        owners = _owners(corpus, space, words, users)
        plain = {each: word for each, word in words.items() if each not in owners}
        meant = _corrected(
            corpus, space, {each: word for each, word in plain.items() if each not in users}
        )
        small = {meant.get(each, each): word for each, word in plain.items() if word.islower()}
        small |= {owner: words[each][:-1] for each, owner in owners.items()}
        names = users | _names(corpus, space, small)
    except EmbedderUnavailable:
        return query
    if not meant and not names:
        return query

    def replaced(found: re.Match[str]) -> str:
        written = found[1]
        if written is None:
            return found[0]
        if name := names.get(owners.get(fold(written), "")):
            return f"{name}'s"
        word = meant.get(fold(written), written)
        word = names.get(fold(word), word) if written.islower() else word
        return word[0].upper() + word[1:] if written[0].isupper() else word

    return _WORD.sub(replaced, query)


def _with_apostrophes(corpus: Corpus, query: str, space: str) -> str:
    """A query with the apostrophes that were left out: "cest quand le partiel danglais".

    What follows must be a word of the space, unlike the whole, or else a noun of a known topic.
    """
    language = language_of(query)
    elided, known = load(language, "words")["elided"], grammar(language)
    roles, before = known.roles, ""
    glued: dict[str, str] = {}
    for written in filter(None, _WORD.findall(query)):
        found = _GLUED.fullmatch(fold(written))
        after_noun, before = _DETERMINERS.isdisjoint(roles.get(before, ())), fold(written)
        if found and found[1] in elided and written.islower() and after_noun:
            glued[written] = found[1]
    rests = {written: fold(written)[len(head) :] for written, head in glued.items()}
    there = corpus.vocabulary.counts(space, {*rests.values(), *map(fold, glued)})

    def is_glued(written: str, head: str) -> bool:
        rest = rests[written]
        if fold(written) in there or rest in STOP_WORDS:
            return False
        noun = topics_of(rest) and not _BEFORE_NOUNS.isdisjoint(roles.get(elided[head], ()))
        likelier = tokens.measure(rest)[0] - tokens.measure(written)[0]
        return (rest in there and likelier > 0) or bool(noun and likelier > LEAST_GAIN)

    apart = {each: head for each, head in glued.items() if is_glued(each, head)}

    def replaced(found: re.Match[str]) -> str:
        head = apart.get(found[1] or "")
        return f"{found[0][: len(head)]}'{found[0][len(head) :]}" if head else found[0]

    return _WORD.sub(replaced, query) if apart else query


def as_glued(vocabulary: Vocabulary, space: str, words: Collection[str]) -> dict[str, str]:
    """Words of the space that are one of some folded words with a shortened word before it: "jbosse" for "bosse".

    Returns:
        Each of them with the word. None is a word of its own, as "mamie" is.
    """
    glued = {
        f"{head}{word}": word
        for word in words
        for head in (_ELIDED if _VOWEL.match(word) else _PRONOUNS)
    }
    return {
        each: glued[each]
        for each in vocabulary.counts(space, glued)
        if not _VOWEL.match(glued[each]) or _is_unlikely(each, glued[each])
    }


def _is_unlikely(glued: str, word: str) -> bool:
    return not topics_of(glued) and tokens.measure(word)[0] - tokens.measure(glued)[0] > LEAST_GAIN


def _users(corpus: Corpus, space: str, query: str, words: Mapping[str, str]) -> dict[str, str]:
    """The users whose names are among the words of a query, or may be with their possessive; no common word that texts have.

    No text may have their names: "I live in Nice" is of Rachel. A common word may call somebody: "evening, will".
    """
    with corpus.store.read() as connection:
        users = {
            *memories.latest_users(connection, space, corpus.store.now()),
            *turn_rows.latest_authors(connection, space),
        }
    possible = {*words, *(each[:-1] for each in words if each.endswith("s"))}
    named = {fold(each): each.title() for each in users if each.isalpha()}
    named = {each: name for each, name in named.items() if each in possible}
    there = corpus.vocabulary.counts(space, named)
    return {
        each: name
        for each, name in named.items()
        if each not in there
        or tokens.measure(name)[0] >= tokens.measure(each)[0]
        or calls(query, (each,))
    }


def _owners(
    corpus: Corpus, space: str, words: Mapping[str, str], users: Collection[str]
) -> dict[str, str]:
    """The words that may be possessives without their apostrophe, each with its owner: no memory is about them."""
    ending = [each for each in words if each.endswith("s") and len(each) >= SHORTEST]
    there = corpus.vocabulary.counts(space, {*ending, *(each[:-1] for each in ending)})
    owners = {each: each[:-1] for each in ending if each[:-1] in there or each[:-1] in users}
    # Somebody typed it so before, or it is a name itself.
    if known := owners.keys() & there.keys():
        with corpus.store.read() as connection:
            about = statements.count_about(connection, space, known)
        owners = {each: owner for each, owner in owners.items() if not about.get(each)}
    return owners


def _corrected(corpus: Corpus, space: str, words: Mapping[str, str]) -> dict[str, str]:
    """The words that are typing errors, each with the word of the space that was meant, folded.

    Args:
        words: The words as they are written, by the folded word.
    """
    vocabulary = corpus.vocabulary
    longer = [each for each in words if SHORTEST <= len(each) <= LONGEST and each.isascii()]
    there = vocabulary.counts(space, longer)
    rare = islice((each for each in longer if there.get(each, 0) <= REPEATED), MOST_CORRECTED)
    meant = {each: _meant(vocabulary, space, each, words[each]) for each in rare}
    return {
        each: word
        for each, word in meant.items()
        if word is not None and not (each in there and _is_told(corpus, space, each))
    }


def _is_told(corpus: Corpus, space: str, word: str) -> bool:
    """Return whether a memory or a note has a word, so that it is none that was only typed wrong before."""
    now = corpus.store.now().timestamp()
    return any(
        corpus.index.matching(kind, word, limit=1, where=Filter(space, collections, now))
        for kind, collections in (("memory", MEMORY_COLLECTIONS), ("note", ("note",)))
    )


def _meant(vocabulary: Vocabulary, space: str, word: str, written: str) -> str | None:
    """The word of the space that an unknown word was meant to be; None if it is valid.

    Args:
        word: Folded.
        written: As written: without its accents, a valid word looks like an error.
    """
    typed, count = max(tokens.measure(word), tokens.measure(written.lower()))
    near = {*_unslipped(word), *(_one_letter_away(word) if count >= FEWEST_TOKENS else ())}
    there = vocabulary.counts(space, near - {word})
    likelihood, best = max(((tokens.measure(each)[0], each) for each in there), default=(typed, ""))
    return best if likelihood - typed > LEAST_GAIN else None


def _unslipped(word: str) -> Iterator[str]:
    """The word without a slip: two letters swapped, a letter doubled, or one of a double left out."""
    for at in range(1, len(word)):
        first, second = word[at - 1], word[at]
        if first == second:
            yield word[:at] + word[at + 1 :]
        elif at > 1:
            yield word[: at - 1] + second + first + word[at + 1 :]
        yield word[:at] + first + word[at:]


def _one_letter_away(word: str) -> Iterator[str]:
    """The words with one letter less, more or another: not the first, nor at the end, where it is grammar ("looks")."""
    for at in range(1, len(word)):
        before, after = word[:at], word[at:]
        if at < len(word) - 1:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in _LETTERS)
        yield from (before + letter + after for letter in _LETTERS)


def _names(corpus: Corpus, space: str, words: dict[str, str]) -> dict[str, str]:
    """The names among some words, as memories write them.

    Many words are part of a name somewhere: "the Bridge Hotel". A name is what is likelier with a capital, or what has
    one in most texts.

    Args:
        words: The words as they are written, by the folded word.
    """
    counts = dict(islice(corpus.vocabulary.counts(space, words).items(), MOST_NAMES))
    if not counts:
        return {}
    with corpus.store.read() as connection:
        told = statements.about(connection, space, "memory", counts, NEWEST * len(counts))
    return {
        word: name
        for word, (name, uses) in with_capital(counts, [each.content for each in told]).items()
        if (words[word].isascii() or words[word] == name.lower())
        and (2 * uses >= counts[word] or tokens.measure(name)[0] >= tokens.measure(name.lower())[0])
    }
