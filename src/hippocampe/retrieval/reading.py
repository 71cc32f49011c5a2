"""Reading: the first results of a search and the query, read together by the reader.

Ranking compares words and vectors; reading sees whether a text answers. It costs some milliseconds a text, so only
the first results are read, one query at a time, and only while there is time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import fsum
from threading import Lock
from typing import Final

import numpy as np

from hippocampe.embed.word_space import Floats
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_text
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.language.detect import language_of
from hippocampe.language.discourse import without_stamp
from hippocampe.language.grammar import stem
from hippocampe.language.speakers import without_teller
from hippocampe.language.statement import parts_of, stated
from hippocampe.language.text import content_words, fold, sentences, words
from hippocampe.language.text_cache import text_cache
from hippocampe.reader.network import Head
from hippocampe.types import Recollection

CERTAIN, UNLIKELY = 0.97, 0.3
"""Skip reading if the best score is at least the one, and all others are at most the other."""
FEWEST_TO_BE_CERTAIN: Final = 16
"""Minimum number of results for that. Ranking compares each with the others, and of a few the best stands out also where
none answers: for "who's diabetic?", an allergy among two statements scores .98. Reading must confirm it."""
SHARE_OF_TIME: Final = 0.15
"""The share of a caller's time left that reading may take: of a turn's 100 ms some 13."""
SEVERAL_FACTOR: Final = 1.5
"""The factor of this time for a query that asks for what several texts tell."""
MAX_SHARE: Final = 0.5
"""The share that reading and the wait for others may take together."""
WORTH_READING: Final = 5
"""Pairs to read on a slow processor too, in up to `MAX_SHARE`: unread, half of the near misses are taken for answers."""
RETRY_FACTOR: Final = 0.9
"""Factor applied to the expected time when reading is skipped, so that it is retried after a load."""
LOCK_TIMEOUT: Final = 0.2
"""Maximum seconds to wait for the reader's lock."""
NO_DEADLINE: Final = 3600.0
"""Seconds left to a caller without a deadline."""
LONG: Final = 300
"""Characters of a long text: the reader sees about so many, and one sentence says little in so many others."""
SHORTEST_PASSAGE: Final = 12
"""Words of a passage, unless the text ends: of "She has moved" alone, nobody knows where to."""
PASSAGE: Final = -1.5
"""Added to the log-odds of a text read in part: without the rest it answers more often than it should. Chosen on BEAM."""
PART: Final = -0.5
"""The same of one of several facts that a memory tells. Chosen on `ask-dev`, with another fact beside each."""

_REPLY: Final = re.compile(r"\n[^:\n]{1,40}: ")
"""The beginning of the reply in a turn."""

_NAME: Final = re.compile(r"[A-Za-zÀ-ɏ]{2,}(?:[ '’-][A-Za-zÀ-ɏ]+)*")
"""A name: words of Latin letters, which the reader learnt to read."""
_APART: Final = re.compile(r"[._]|(?<=[^\W\d_])\d+$")
"""The separators of the words of a name in an address, and the number at its end."""
_LONGEST_NAME: Final = 40
_FIRST_NAMES: Final = tuple(
    "Eva David Adam Noah Maud Tom Sam Felix Julie Chloe Hugo Bruno Ana Victor Lou Mia Nora Leo Ida Max Lea Rose".split()
)
"""Names for users who have none. Of 36, the reader takes Eva least often for another, and the others in this order for her."""

_one_at_a_time = Lock()


class NotRead(Exception):
    """There was no time to read: the load is high, or the deadline near."""


def is_certain(scores: Sequence[float]) -> bool:
    """Return whether one result is clearly the answer.

    Args:
        scores: Probabilities, in any order.
    """
    best, *others = sorted(scores, reverse=True)[:2] or [0.0]
    return best >= CERTAIN and max(others, default=0.0) <= UNLIKELY


def time_to_read(
    corpus: Corpus, seconds_left: float, *, several: bool = False
) -> tuple[float, float]:
    """Return the seconds that reading may take, and those that it may wait for others.

    Args:
        corpus: The corpus.
        seconds_left: Seconds until the caller's deadline.
        several: Whether the query asks for what several texts tell.

    Raises:
        ModelUnavailable: The reader cannot be loaded.
    """
    seconds_left = min(seconds_left, NO_DEADLINE)
    most = MAX_SHARE * seconds_left
    share = SHARE_OF_TIME * seconds_left * (SEVERAL_FACTOR if several else 1)
    seconds = max(share, min(WORTH_READING * corpus.reader().seconds_per_pair, most))
    return seconds, min(most - seconds, LOCK_TIMEOUT)


def read_pairs(
    corpus: Corpus,
    head: Head,
    pairs: Sequence[tuple[str, str]],
    seconds: float,
    wait: float,
    fewest: int = 1,
) -> Floats:
    """The reader's logits for the first pairs, as many as there is time for: shape (pairs read, logits).

    Args:
        corpus: The corpus.
        head: What is asked of each pair.
        pairs: The pairs, those to read first at the beginning.
        seconds: Time that it may take.
        wait: Time to wait for others.
        fewest: Minimum number of pairs worth reading.

    Raises:
        NotRead: There is no time.
        ModelUnavailable: The reader cannot be loaded.
    """
    reader = corpus.reader()
    # The time of a pair is that of a thread, divided by the threads.
    if seconds < (fewest + 1) * reader.seconds_per_pair:
        reader.seconds_per_pair *= RETRY_FACTOR
        raise NotRead
    if not _one_at_a_time.acquire(timeout=wait):
        raise NotRead
    try:
        return reader.read_pairs(head, pairs, seconds)
    finally:
        _one_at_a_time.release()


def read(
    corpus: Corpus,
    queries: Sequence[str],
    user: str | None,
    items: Sequence[Recollection],
    seconds_left: float,
    *,
    several: bool,
    first: int,
    is_enough: Callable[[Floats], bool],
) -> Floats:
    """Log-odds that each text answers one of the queries: for as many results as there is time for.

    Args:
        corpus: The corpus.
        queries: The query, and perhaps others that mean the same.
        user: Who asks.
        items: The results, best first.
        seconds_left: Seconds until the caller's deadline.
        several: Whether the query asks for what several texts tell.
        first: The number of results to read first.
        is_enough: Given the log-odds of these, whether the others need not be read.

    Returns:
        Shape (at most items,).

    Raises:
        NotRead: There is no time.
        ModelUnavailable: The reader cannot be loaded.
    """
    stopwatch = Stopwatch()
    seconds, wait = time_to_read(corpus, seconds_left, several=several)
    found = _read(corpus, queries, user, items[:first], seconds, wait)
    if len(found) < first or len(items) == first or is_enough(found):
        return found
    seconds -= stopwatch.total() / 1000
    with suppress(NotRead):
        others = _read(corpus, queries, user, items[first:], seconds, wait)
        found = np.concatenate([found, others])
    return found


def _read(
    corpus: Corpus,
    queries: Sequence[str],
    user: str | None,
    items: Sequence[Recollection],
    seconds: float,
    wait: float,
) -> Floats:
    names = names_of([user, *(item.author for item in items)], queries)
    asked = [line(names.get(user), query) for query in queries]
    views = [_views(item, queries) for item in items]
    told = [(at, *each[0]) for at, each in enumerate(views)]
    told += [(at, *view) for at, each in enumerate(views) for view in each[1:]]
    pairs = [
        (query, line(names.get(items[at].author), text)) for at, text, _ in told for query in asked
    ]
    odds = read_pairs(corpus, "answer", pairs, seconds, wait, len(queries))
    whole = len(odds) // len(queries)
    if not whole:
        raise NotRead
    best: Floats = odds[: whole * len(queries)].reshape(whole, len(queries)).max(axis=1)
    found = np.full(min(whole, len(items)), -np.inf, np.float32)
    for (at, _, added), value in zip(told, best, strict=False):
        found[at] = max(found[at], value + added)
    return found


def _views(item: Recollection, queries: Sequence[str]) -> list[tuple[str, float]]:
    """The texts that are read of a result, the most telling one first, and what is added to the log-odds of each."""
    said = without_reply(item)
    told, *facts = _told(item.content, item.author) if item.memory else (item.content,)
    whole = memory_text(replace(item.memory, content=told)) if item.memory else told
    added = PASSAGE if len(item.content) > LONG else 0.0
    if passage := _passage(said or item.content, queries):
        return [(passage, added), (whole, 0.0)]
    if said:
        return [(whole, 0.0), (said, added)]
    return [(whole, 0.0), *((fact, PART) for fact in facts)]


@text_cache(4096)
def _told(content: str, author: str | None) -> tuple[str, ...]:
    """The statement of a memory, as its teller said it; and each of its facts, if it tells several."""
    told = without_teller(stated(without_stamp(content)[0], questions=True), author or "")
    facts = parts_of(told)
    return (told, *facts) if facts[1:] else (told,)


def _passage(text: str, queries: Sequence[str]) -> str | None:
    """The passage of a long text that has most of the words of the queries, rare words first; None if none has any.

    It begins with one of the sentences, and goes on until it is long enough to be understood.
    """
    if len(text) <= LONG:
        return None
    language = language_of(text)
    asked = {stem(word, language) for word in content_words(" ".join(queries))}
    told = sentences(text)
    shared = [asked & {stem(word, language) for word in content_words(each)} for each in told]
    counts = Counter(word for each in shared for word in each)
    best, highest = None, 0.0
    for start in range(len(told)):
        stop = _passage_end(told, start)
        weight = fsum(1 / counts[word] for word in set[str]().union(*shared[start:stop]))
        # Of two passages with the same words, the later one begins with them, and tells more of them.
        if weight and weight >= highest:
            best, highest = told[start:stop], weight
    return " ".join(best) if best else None


def _passage_end(told: Sequence[str], start: int) -> int:
    """The place behind the last sentence of the passage that begins with the one at `start`."""
    length = 0
    for stop, each in enumerate(told[start:], start + 1):
        length += len(each.split())
        if length >= SHORTEST_PASSAGE:
            return stop
    return len(told)


def without_reply(item: Recollection) -> str | None:
    """The words of a turn without the reply; None for other texts.

    "She'll love it" hides from the reader that "I signed Zoe up for dance at 2 pm" tells a time.
    """
    reply = _REPLY.search(item.content) if item.kind == "turn" else None
    return item.content[: reply.start()] if reply else None


def line(name: str | None, text: str) -> str:
    """A text as the reader learnt to see it."""
    return f"{name}: {text}" if name else text


def names_of(users: Iterable[str | None], texts: Iterable[str]) -> dict[str | None, str]:
    """The names of users as the reader learnt to see them: first names, also for `ana@example.org`, `u-1001` or an emoji.

    To the reader, "u-1001: where do I live?" and "u-1002: I live in Lyon" are of one person.

    Args:
        users: The users, most important first.
        texts: Texts in which some may be named: these keep their names, and no other gets a name of these texts.
    """
    every = [each for each in dict.fromkeys(users) if each]
    spelt = {each: _spelt(each) for each in every}
    owners = {(fold(each), fold(name)) for each, name in spelt.items() if name}
    shared = Counter(name for _, name in owners)
    said = {word for text in texts for word in words(text)}
    taken = said.union(*map(words, every))
    free = (each for each in _FIRST_NAMES if fold(each) not in taken)
    found: dict[str | None, str] = {}
    for each in every:
        name = spelt[each]
        if name and shared[fold(name)] == 1:
            found[each] = name
        else:
            is_named = (of_user := words(each)) and said.issuperset(of_user)
            found[each] = each if is_named else next(free, each)
    return found


def _spelt(user: str) -> str | None:
    """The name of a user who has one, also in an address or with a number; None if it is none."""
    name = user.partition("@")[0] or user
    spelt = " ".join(_APART.sub(" ", name).split())
    return spelt if len(spelt) <= _LONGEST_NAME and _NAME.fullmatch(spelt) else None
