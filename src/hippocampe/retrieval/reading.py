"""Reading: the first results of a search and the query, read together by the reader.

Ranking compares words and vectors; reading sees whether a text answers. It costs some milliseconds a text, so only
the first results are read, one query at a time, and only while there is time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Final

import numpy as np

from hippocampe.embed.word_space import Floats
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_text
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.language.detect import language_of
from hippocampe.language.discourse import without_markers
from hippocampe.language.grammar import stem
from hippocampe.language.speakers import without_teller
from hippocampe.language.text import content_words, sentences
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
PASSAGE: Final = -1.5
"""Added to the log-odds of a text read in part: without the rest it answers more often than it should. Chosen on BEAM."""

_REPLY: Final = re.compile(r"\n[^:\n]{1,40}: ")
"""The beginning of the reply in a turn."""

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
    asked = [line(user, query) for query in queries]
    told = [(at, _whole(item)) for at, item in enumerate(items)]
    told += [
        (at, alone) for at, item in enumerate(items) if (alone := _alone(item, queries)) is not None
    ]
    pairs = [(query, line(items[at].author, text)) for at, text in told for query in asked]
    odds = read_pairs(corpus, "answer", pairs, seconds, wait, len(queries))
    whole = len(odds) // len(queries)
    if not whole:
        raise NotRead
    best: Floats = odds[: whole * len(queries)].reshape(whole, len(queries)).max(axis=1)
    found = best[: len(items)].copy()
    for (at, _), value in zip(told[len(items) : whole], best[len(items) :], strict=True):
        found[at] = max(found[at], value + (PASSAGE if len(items[at].content) > LONG else 0))
    return found


def _whole(item: Recollection) -> str:
    """The text of a result; of a memory with its key and the subjects that were given to it, as its teller said it."""
    if item.memory is None:
        return item.content
    said = without_teller(without_markers(item.content), item.author or "")
    return memory_text(replace(item.memory, content=said))


def _alone(item: Recollection, queries: Sequence[str]) -> str | None:
    """The passage of a result about the queries, without the rest; None if it says little else."""
    said = without_reply(item)
    return _passage(said or item.content, queries) or said


def _passage(text: str, queries: Sequence[str]) -> str | None:
    """The sentence of a long text that has most of the words of the queries, rare words first; None if none has any."""
    if len(text) <= LONG:
        return None
    language = language_of(text)
    asked = {stem(word, language) for word in content_words(" ".join(queries))}
    told = sentences(text)
    shared = [asked & {stem(word, language) for word in content_words(each)} for each in told]
    counts = Counter(word for each in shared for word in each)
    weights = [sum(1 / counts[word] for word in each) for each in shared]
    best = max(range(len(told)), key=weights.__getitem__)
    return told[best] if weights[best] else None


def without_reply(item: Recollection) -> str | None:
    """The words of a turn without the reply; None for other texts.

    "She'll love it" hides from the reader that "I signed Zoe up for dance at 2 pm" tells a time.
    """
    reply = _REPLY.search(item.content) if item.kind == "turn" else None
    return item.content[: reply.start()] if reply else None


def line(user: str | None, text: str) -> str:
    """A text as the reader learnt to see it."""
    return f"{user}: {text}" if user else text
