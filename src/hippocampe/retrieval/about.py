"""Find everything about a topic, to forget it: memories, turns and live messages.

A topic in the first person ("I play the tuba", "my card number"), or that names the user ("Ana plays the tuba"), is
the user's own: what others say of themselves stays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from sqlalchemy import Connection, or_

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_text, turn_text
from hippocampe.errors import EmbedderUnavailable, ModelUnavailable
from hippocampe.language.forgetting import read_request
from hippocampe.language.kin import is_naming
from hippocampe.language.questions import without_former
from hippocampe.language.subjects import proper_names_in
from hippocampe.language.temporal.window import TimeWindow
from hippocampe.language.text import (
    fold,
    words,
    written_words,
)
from hippocampe.language.values import values_asked, values_stated
from hippocampe.protocols import TALK, Filter
from hippocampe.retrieval import recall
from hippocampe.retrieval.reading import NotRead, line, names_of, read_pairs
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS, RecallRequest
from hippocampe.retrieval.topic import Topic, has_word, read_topic, words_said
from hippocampe.store import listing, memories, message_rows, schema, turn_rows
from hippocampe.types import MEMORY_COLLECTIONS, Memory, Message, ReceiptItem, Recollection, Scope

MIN_RELEVANCE = 0.5
"""Minimum relevance of a recalled item that is about the topic."""
MIN_SEMANTIC_OVERLAP = 0.5
SAME_COSINE = -0.125
NAMED_COSINE = -0.3
TRANSLATED_COSINE = -0.625
"""Cosines above which a text of the user is about a topic of theirs: by itself, with the last word of the
topic, or with all its words by meaning. Relative to the threshold of the embedder, in parts of its distance
to 1: 0.55, 0.48 and 0.35 for the bundled one. Of 60 pairs in both languages, the closest of another matter are "je
joue du tuba" / "Ana joue au tennis" at 0.44, and the farthest of the same "my children" / "mes deux enfants" at 0.40."""
ALL_BY_MEANING = 0.9
MAX_BY_MEANING = 50
MAX_BY_WORDS = 500
UNCLEAR = "unclear"
"""Why an item is in a receipt that may be about somebody else."""
MAX_BEHIND = 3.0
"""Log-odds of the reader between the text that is nearest to a topic and the farthest that is about it too. Of 25 pairs in
both languages, others are farther by 3.1 to 6.9, such as "mon salaire" / "je dois 400 euros"."""
MAX_BEHIND_UNASKED = 1.0
"""The same where nobody is asked: "my debts" takes "I owe 400 pounds", and not "my savings are 2300 euros", 1.8 behind."""
READING_SECONDS = 0.04
"""Time for that: a turn has 100 ms."""
_Told = tuple[ReceiptItem, str | None]
"""An item, and who told it."""
CERTAIN = 0.8
"""Minimum relevance of what a message means that may be no request: of 27 such messages, what they do not mean has at most
0.76, as "les cadeaux" and "Gabin adore les trains"; of 8 requests, 6 have 0.9 or more."""
MAX_LIKELY = 8
"""Maximum memories and turns that are read with the topic when the searches find none."""


def find(
    corpus: Corpus,
    topic: str,
    scope: Scope,
    *,
    said: bool = False,
    without: frozenset[str] = frozenset(),
) -> list[ReceiptItem]:
    """Everything about a topic, and why.

    An item is about the topic if recall finds it relevant (0.5 or more) and it matches most of the topic's
    words by meaning, if its text or its key contains all of them, or if it held a secret of a kind that the
    topic names. What the user says of themselves only has to be close to a topic of theirs.

    Args:
        corpus: The memory.
        topic: What it is about.
        scope: The space, and the user whose "I" the topic has.
        said: Restrict to statements of this user.
        without: The turns in which it was asked for: they have the words of the topic.
    """
    asked = replace(read_topic(corpus, topic, scope, said=said), without=without)
    found = {item.id: item for item in _by_meaning(corpus, asked, scope)}
    if asked.wanted:
        for item in (each for each in _by_words(corpus, asked) if each.id not in without):
            known = found.get(item.id)
            before = known.matched if known else ()
            matched = tuple(dict.fromkeys((*before, *item.matched)))
            found[item.id] = replace(known or item, matched=matched)
    told, requests = without_requests(corpus, list(found.values()))
    told = _with_value(asked.text, told) or list(_by_value(corpus, asked, scope))
    return _nearest(corpus, asked, _former(asked.text, told)) + requests


def without_requests(
    corpus: Corpus, items: Sequence[ReceiptItem]
) -> tuple[list[ReceiptItem], list[ReceiptItem]]:
    """The items, and apart from them the turns that ask to forget: such a request names its topic, but tells nothing of it."""
    with corpus.store.read() as connection:
        said = message_rows.said_in(connection, [each.id for each in items if each.kind == "turn"])
    asks = {id for id, text in said.items() if read_request(text) is not None}
    others = [each for each in items if each.id not in asks]
    return others, [each for each in items if each.id in asks]


def _former(topic: str, found: list[ReceiptItem]) -> list[ReceiptItem]:
    """Drop what still holds if the topic is how something was, and others tell that: "my old address"."""
    if without_former(topic) is None:
        return found
    former = [each for each in found if each.memory is None or each.memory.former]
    return former if any(each.memory for each in former) else found


def named(corpus: Corpus, topic: str, scope: Scope) -> Iterator[ReceiptItem]:
    """Statements of the user with all the words of a topic with a name, which needs no search by meaning."""
    asked = read_topic(corpus, topic, scope, said=True)
    return _by_words(corpus, asked) if asked.wanted else iter(())


def _with_value(topic: str, found: list[ReceiptItem]) -> list[ReceiptItem]:
    """Drop what only resembles the topic, if others state its value: "my dentist's name" is not in "I see my dentist on Friday"."""
    values, naming = values_asked(topic), is_naming(words(topic))
    if not (values or naming):
        return found
    named = proper_names_in(topic)

    def states(text: str) -> bool:
        return bool(values_stated(text) & values) or (naming and proper_names_in(text) > named)

    stating = {each.id for each in found if states(each.content)}
    return [each for each in found if each.id in stating or "words" in each.matched or not stating]


def likely(
    corpus: Corpus,
    topic: str,
    scope: Scope,
    *,
    sure: bool,
    without: frozenset[str] = frozenset(),
    window: TimeWindow | None = None,
) -> list[ReceiptItem]:
    """Statements and talk of the user that the reader finds about a topic of theirs: "my debts", "I owe 3000 euros".

    For a topic without results in `find`: a person decides.

    Args:
        corpus: The memory.
        topic: What it is about.
        scope: The space and the user.
        sure: Whether it is certainly a topic to forget; the reader has to be more certain otherwise.
        without: The turns in which it was asked for.
        window: The time in which it was told.
    """
    request = RecallRequest(
        scope,
        limit=MAX_LIKELY,
        collections=("memory", "turn"),
        min_score=recall.LIKELY if sure else CERTAIN,
        read=MAX_LIKELY,
        typed=True,
        without=without,
        since=window.start if window else None,
        until=window.end if window else None,
    )
    try:
        found = recall.search(corpus, topic[:MAX_QUERY_CHARACTERS], request)
    except EmbedderUnavailable as exc:
        corpus.outages.failed("embedder", exc)
        return []
    mine = (hit for hit in found if fold(hit.author or "") == fold(scope.user or ""))
    return _former(topic, [_of_hit(hit, corpus) for hit in mine])


def is_exact(item: ReceiptItem) -> bool:
    """Return whether an item has the words or the key of a topic, and is about its owner."""
    return UNCLEAR not in item.matched and not {"words", "key"}.isdisjoint(item.matched)


def nearest(
    corpus: Corpus,
    topic: str,
    scope: Scope,
    found: list[ReceiptItem],
    others: list[ReceiptItem],
    *,
    behind: float = MAX_BEHIND,
) -> list[ReceiptItem]:
    """The items that a search found about a topic; with others, if the reader finds one of these nearer.

    Items that may be about somebody else are then dropped if they are less near by more than `behind`; see `_near`.
    """
    asked = read_topic(corpus, topic, scope, said=True)
    known = {each.id for each in found}
    every = [*found, *(each for each in others if each.id not in known)]
    odds = _odds(corpus, asked, every)
    best = max(range(len(odds)), key=lambda at: odds[at], default=None)
    if best is None or every[best].id in known:
        return found
    near = {each.id for each in _near(asked, every, odds, behind)}
    clear = {each.id for each in found if UNCLEAR not in each.matched}
    return [each for each in every if each.id in near | clear]


def _nearest(corpus: Corpus, topic: Topic, found: list[ReceiptItem]) -> list[ReceiptItem]:
    """Drop what resembles a topic of the user, if the reader finds another text far nearer: "my debts" are not "I earn 2,350"."""
    if topic.user is None or topic.said or len(found) < 2:
        return found
    return _near(topic, found, _odds(corpus, topic, found))


def _odds(corpus: Corpus, topic: Topic, found: list[ReceiptItem]) -> list[float]:
    """The log-odds that the first texts are about a topic of the user, as many as there is time to read."""
    name = names_of([topic.user], [topic.text]).get(topic.user)
    told = [words_said(each.content) for each in found[:MAX_LIKELY]]
    pairs = [(line(name, topic.text), line(name, text)) for text in told]
    try:
        return read_pairs(corpus, "answer", pairs, READING_SECONDS, READING_SECONDS)[:, 0].tolist()
    except (NotRead, ModelUnavailable):
        return []


def _near(
    topic: Topic, found: list[ReceiptItem], odds: list[float], behind: float = MAX_BEHIND
) -> list[ReceiptItem]:
    """The items that the reader finds about a topic as much as the nearest, that have words of it, or that were not read."""
    least = max(odds, default=0.0) - behind
    return [
        each
        for at, each in enumerate(found)
        if at >= len(odds)
        or odds[at] >= least
        or "words" in each.matched
        or has_word(words_said(each.content), topic.last)
    ]


def _by_meaning(corpus: Corpus, topic: Topic, scope: Scope) -> Iterator[ReceiptItem]:
    text, own = topic.text[:MAX_QUERY_CHARACTERS], topic.user is not None and not topic.said
    found: dict[str, Recollection] = {}
    # As "I", and with the name of the user, whom others name.
    for user in dict.fromkeys((None, topic.user)):
        request = RecallRequest(
            Scope(space=scope.space, user=user),
            limit=MAX_BY_MEANING,
            collections=(*MEMORY_COLLECTIONS, *TALK),
            without=topic.without,
        )
        try:
            hits = recall.search(corpus, text, request, explain=True)
        except EmbedderUnavailable as exc:
            corpus.outages.failed("embedder", exc)
            return
        for hit in hits:
            if hit.id in found or topic.names_another(hit.content):
                continue
            about = _is_close(hit, topic, corpus) if own else _matches_most(hit)
            if about:
                found[hit.id] = hit
    for hit in found.values():
        yield from _fitting(topic, _of_hit(hit, corpus), hit.author)


def _by_value(corpus: Corpus, topic: Topic, scope: Scope) -> Iterator[ReceiptItem]:
    """Statements of the user with a value of the kind that a topic of theirs names: "my address", "I live at 14 Alder Lane"."""
    values = values_asked(topic.text)
    if topic.user is None or topic.said or not values:
        return
    request = RecallRequest(
        Scope(space=scope.space, user=topic.user),
        limit=MAX_BY_MEANING,
        collections=("memory", *TALK),
        without=topic.without,
    )
    try:
        hits = recall.search(corpus, topic.text[:MAX_QUERY_CHARACTERS], request)
    except EmbedderUnavailable as exc:
        corpus.outages.failed("embedder", exc)
        return
    for hit in hits:
        told = words_said(hit.content)
        if topic.owns(told, hit.author, memory=True) and values_stated(told) & values:
            item = _of_hit(hit, corpus)
            if topic.fit(item, hit.author) != "other":
                yield replace(item, matched=(*item.matched, UNCLEAR))


def _fitting(topic: Topic, item: ReceiptItem, author: str | None) -> Iterator[ReceiptItem]:
    """Yield an item that matches, unless it is about another person or says the opposite; mark it if that is unclear."""
    fits = topic.fit(item, author)
    if fits != "other":
        unclear = (UNCLEAR,) if fits == "unclear" else ()
        yield replace(item, matched=(*item.matched, *unclear))


def _of_hit(hit: Recollection, corpus: Corpus) -> ReceiptItem:
    at = hit.at or corpus.store.now()
    return ReceiptItem(hit.id, hit.kind, hit.content, at, ("meaning",), hit.memory)


def _matches_most(item: Recollection) -> bool:
    """Return whether a relevant item matches more than half of the topic by meaning.

    "dev = Mickael" is relevant to Mickael's illness but not about it.
    """
    soft = next((signal.value for signal in item.why if signal.name == "soft"), 0)
    return item.score >= MIN_RELEVANCE and soft > MIN_SEMANTIC_OVERLAP


def _is_close(item: Recollection, topic: Topic, corpus: Corpus) -> bool:
    """Return whether a text of the user is about a topic of theirs."""
    if topic.last in words(item.content) and not has_word(item.content, topic.last):
        return False
    threshold = corpus.vocabulary.embedder.dedup_threshold
    value = {signal.name: signal.value for signal in item.why}
    closeness = (value.get("dense", 0) - threshold) / (1 - threshold)
    if value.get("late", 0) >= ALL_BY_MEANING and closeness >= TRANSLATED_COSINE:
        return True
    return closeness >= (NAMED_COSINE if has_word(item.content, topic.last) else SAME_COSINE)


def _by_words(corpus: Corpus, topic: Topic) -> Iterator[ReceiptItem]:
    """Items whose text or key contains all the words, or a secret that is named, regardless of relevance."""
    with corpus.store.read() as connection:
        for item, author in chain(
            _worded(corpus, connection, topic),
            _replaced(connection, topic),
            _keyed(connection, topic, corpus.store.now()),
        ):
            yield from _fitting(topic, item, author)


def _worded(corpus: Corpus, connection: Connection, topic: Topic) -> Iterator[_Told]:
    """Current memories, turns and messages without a turn."""
    space, now = topic.space, corpus.store.now()
    queries = [topic.text, *(f"secret {kind}" for kind in topic.kinds)]

    def matching(kind: str, *collections: str) -> list[str]:
        where = Filter(space=space, collections=collections, now=now.timestamp())
        hits = [
            hit
            for query in queries
            for hit in corpus.index.matching(kind, query, limit=MAX_BY_WORDS, where=where)
        ]
        return list(dict.fromkeys(hit.id for hit in hits))

    found = memories.get(connection, space, matching("memory", *MEMORY_COLLECTIONS))
    for memory in found.values():
        if topic.is_worded_in(memory_text(memory)):
            yield of_memory(memory, "words"), memory.user
    for turn in turn_rows.get(connection, space, matching("turn", "turn")).values():
        if topic.is_worded_in(turn_text(turn)):
            yield ReceiptItem(turn.id, "turn", turn.content, turn.at, ("words",)), turn.author
    # Digested messages are no longer live, but full-text search finds them.
    for each in _loose_messages(connection, topic, matching("live", "live")):
        if topic.is_worded_in(each.content):
            kind = "live" if each.live else "message"
            yield ReceiptItem(each.id, kind, each.content, each.at, ("words",)), each.author


def _keyed(connection: Connection, topic: Topic, now: datetime) -> Iterator[_Told]:
    """Facts by their keys."""
    keyed = [memories.living(topic.space, now), schema.memory.c.key.is_not(None)]
    for memory in memories.find(connection, *keyed):
        key = (memory.key or "").replace("_", " ")
        if topic.wanted <= set(words(key)):
            yield of_memory(memory, "key"), memory.user


def _replaced(connection: Connection, topic: Topic) -> Iterator[_Told]:
    """The memories that others replaced, which no search finds."""
    as_written = {word for word in written_words(topic.text) if fold(word) in topic.wanted}
    found = memories.find(
        connection,
        schema.memory.c.space == topic.space,
        schema.memory.c.superseded_at.is_not(None),
        schema.memory.c.forgotten_at.is_(None),
        or_(*map(listing.has_word, topic.wanted | as_written)),
        limit=MAX_BY_WORDS,
    )
    for memory in found:
        if topic.is_told_in(memory_text(memory)):
            yield of_memory(memory, "words"), memory.user


def _loose_messages(connection: Connection, topic: Topic, live: Sequence[str]) -> list[Message]:
    """Messages without a turn: those of some ids, and those with all the words."""
    found = message_rows.find(connection, schema.message.c.id.in_(live))
    text = " ".join(sorted(topic.wanted))
    return found + message_rows.search_text(
        connection,
        topic.space,
        text,
        author=None,
        channel=None,
        since=None,
        until=None,
        limit=MAX_BY_WORDS,
        loose=True,
    )


def of_memory(memory: Memory, matched: str) -> ReceiptItem:
    """A memory as an item of a receipt."""
    at = memory.created_at
    return ReceiptItem(memory.id, memory.collection, memory.content, at, (matched,), memory)
