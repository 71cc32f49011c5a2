"""Find everything about a topic, to forget it: memories, turns and live messages.

A topic in the first person ("I play the tuba", "my card number"), or that names the user ("Ana plays the tuba"), is
the user's own: what others say of themselves stays.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from sqlalchemy import Connection, or_

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_text, turn_text
from hippocampe.errors import EmbedderUnavailable
from hippocampe.language import secrets
from hippocampe.language.difference import names_another
from hippocampe.language.kin import is_naming
from hippocampe.language.mentions import mentions
from hippocampe.language.owners import Fit, fit
from hippocampe.language.person import is_about_speaker, is_first_person
from hippocampe.language.statement import parse
from hippocampe.language.subjects import proper_names_in, subjects_of
from hippocampe.language.text import STOP_WORDS, content_words, fold, words, written_words
from hippocampe.language.values import values_asked, values_stated
from hippocampe.protocols import TALK, Filter
from hippocampe.retrieval import recall
from hippocampe.retrieval.lookup import names
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS, RecallRequest
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
_Told = tuple[ReceiptItem, str | None]
"""An item, and who told it."""
_REPLY = re.compile(r"\n[^:\n]{1,40} ?: ")
"""Between the lines of a turn and those of its reply."""
MAX_LIKELY = 8
"""Maximum memories and turns that are read with the topic when the searches find none."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic.

    Attributes:
        text: As written.
        space: The space.
        wanted: Its content words.
        kinds: The kinds of secrets that it names.
        user: The user whose own topic it is; None for a topic of everyone.
        names: The names of the user, folded.
        said: Whether every statement of the user about it matches, also about other people.
    """

    text: str
    space: str
    wanted: Set[str]
    kinds: frozenset[str]
    user: str | None
    names: tuple[str, ...]
    said: bool

    def owns(self, text: str, author: str | None, *, memory: bool) -> bool:
        """Return whether a text may be about the topic: it is the user's own, or the topic is everyone's."""
        if self.user is None:
            return True
        told = self._is_by_user(author)
        if self.said:
            return told
        if mentions(text, self.names):
            return True
        if not memory:
            return told
        about = set(subjects_of(text))
        of_speaker = is_first_person(text) or is_about_speaker(text)
        return told and (not about or "user" in about or of_speaker)

    def is_worded_in(self, text: str) -> bool:
        """Return whether a text has all its words, or a secret of a kind that it names."""
        contains = self.wanted <= set(words(text))
        return contains or any(f"[secret: {kind}]" in text for kind in self.kinds)

    def is_told_in(self, text: str) -> bool:
        """Return whether a text has the names and values of the topic and half of its words, or all of these."""
        topic, told = parse(self.text), {token.stem for token in parse(text).tokens}
        wanted = [topic.tokens[at] for at in topic.content]
        named = {token.stem for token in wanted if token.name or token.kind != "word"}
        stems = {token.stem for token in wanted}
        return named <= told and len(stems & told) * 2 >= len(stems) * (1 if named else 2)

    def fit(self, item: ReceiptItem, author: str | None) -> Fit:
        """Return whether an item that matches is about the owner of the topic, and says the same of them."""
        text = memory_text(item.memory) if item.memory else item.content
        if not self.owns(text, author, memory=item.memory is not None):
            return "other"
        by_user = self.user is None or author is None or self._is_by_user(author)
        # "I" in the reply of a turn is not who asked.
        return fit(self.text, _REPLY.split(text, maxsplit=1)[0], self.names, by_speaker=by_user)

    def names_another(self, text: str) -> bool:
        """Return whether the topic and a text each have a name or a number that the other lacks."""
        if self.wanted <= set(words(text)):
            return False
        return names_another(parse(self.text), parse(text))

    def _is_by_user(self, author: str | None) -> bool:
        return author is not None and self.user is not None and fold(author) == fold(self.user)


def find(corpus: Corpus, topic: str, scope: Scope, *, said: bool = False) -> list[ReceiptItem]:
    """Everything about a topic, and why.

    An item is about the topic if recall finds it relevant (0.5 or more) and it matches most of the topic's
    words by meaning, if its text or its key contains all of them, or if it held a secret of a kind that the
    topic names. What the user says of themselves only has to be close to a topic of theirs.

    Args:
        corpus: The memory.
        topic: What it is about.
        scope: The space, and the user whose "I" the topic has.
        said: Restrict to statements of this user.
    """
    asked = _read_topic(corpus, topic, scope, said=said)
    found = {item.id: item for item in _by_meaning(corpus, asked, scope)}
    if asked.wanted:
        for item in _by_words(corpus, asked):
            known = found.get(item.id)
            before = known.matched if known else ()
            matched = tuple(dict.fromkeys((*before, *item.matched)))
            found[item.id] = replace(known or item, matched=matched)
    return _with_value(asked.text, list(found.values())) or list(_by_value(corpus, asked, scope))


def named(corpus: Corpus, topic: str, scope: Scope) -> Iterator[ReceiptItem]:
    """Statements of the user with all the words of a topic with a name, which needs no search by meaning."""
    asked = _read_topic(corpus, topic, scope, said=True)
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


def _read_topic(corpus: Corpus, topic: str, scope: Scope, *, said: bool) -> _Topic:
    called = names(corpus.aliases, scope.user, scope=scope) if scope.user else ()
    own = is_about_speaker(topic) or mentions(topic, called)
    said = said and not own
    user = scope.user if own or said else None
    name = {word for each in called for word in words(each)}
    wanted = {word for word in content_words(topic) if word not in STOP_WORDS}
    wanted = wanted - name or wanted
    return _Topic(
        topic,
        scope.space,
        wanted,
        secrets.kinds_named(topic),
        user,
        called,
        said,
    )


def likely(
    corpus: Corpus, topic: str, scope: Scope, *, until: datetime | None = None
) -> list[ReceiptItem]:
    """Statements and talk of the user that the reader finds about a topic of theirs: "my debts", "I owe 3000 euros".

    For a topic without results in `find`: a person decides.

    Args:
        corpus: The memory.
        topic: What it is about.
        scope: The space and the user.
        until: When it was asked: the request has the words of its topic, and is not what it means.
    """
    asked = _read_topic(corpus, topic, scope, said=True)
    request = RecallRequest(
        scope,
        limit=MAX_LIKELY,
        collections=("memory", "turn"),
        until=until,
        min_score=recall.LIKELY,
        read=MAX_LIKELY,
        typed=True,
    )
    try:
        found = recall.search(corpus, topic[:MAX_QUERY_CHARACTERS], request)
    except EmbedderUnavailable as exc:
        corpus.outages.failed("embedder", exc)
        return []
    return [each for hit in found for each in _fitting(asked, _of_hit(hit, corpus), hit.author)]


def _by_meaning(corpus: Corpus, topic: _Topic, scope: Scope) -> Iterator[ReceiptItem]:
    text, own = topic.text[:MAX_QUERY_CHARACTERS], topic.user is not None and not topic.said
    found: dict[str, Recollection] = {}
    # As "I", and with the name of the user, whom others name.
    for user in dict.fromkeys((None, topic.user)):
        request = RecallRequest(
            Scope(space=scope.space, user=user),
            limit=MAX_BY_MEANING,
            collections=(*MEMORY_COLLECTIONS, *TALK),
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


def _by_value(corpus: Corpus, topic: _Topic, scope: Scope) -> Iterator[ReceiptItem]:
    """Statements of the user with a value of the kind that a topic of theirs names: "my address", "I live at 14 Alder Lane"."""
    values = values_asked(topic.text)
    if topic.user is None or topic.said or not values:
        return
    request = RecallRequest(
        Scope(space=scope.space, user=topic.user),
        limit=MAX_BY_MEANING,
        collections=("memory", *TALK),
    )
    try:
        hits = recall.search(corpus, topic.text[:MAX_QUERY_CHARACTERS], request)
    except EmbedderUnavailable as exc:
        corpus.outages.failed("embedder", exc)
        return
    for hit in hits:
        told = _REPLY.split(hit.content, maxsplit=1)[0]
        if topic.owns(told, hit.author, memory=True) and values_stated(told) & values:
            item = _of_hit(hit, corpus)
            if topic.fit(item, hit.author) != "other":
                yield replace(item, matched=(*item.matched, UNCLEAR))


def _fitting(topic: _Topic, item: ReceiptItem, author: str | None) -> Iterator[ReceiptItem]:
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


def _is_close(item: Recollection, topic: _Topic, corpus: Corpus) -> bool:
    """Return whether a text of the user is about a topic of theirs."""
    last = next(iter(content_words(topic.text)[::-1]), "")
    threshold = corpus.vocabulary.embedder.dedup_threshold
    value = {signal.name: signal.value for signal in item.why}
    closeness = (value.get("dense", 0) - threshold) / (1 - threshold)
    if value.get("late", 0) >= ALL_BY_MEANING and closeness >= TRANSLATED_COSINE:
        return True
    return closeness >= (NAMED_COSINE if last in words(item.content) else SAME_COSINE)


def _by_words(corpus: Corpus, topic: _Topic) -> Iterator[ReceiptItem]:
    """Items whose text or key contains all the words, or a secret that is named, regardless of relevance."""
    with corpus.store.read() as connection:
        for item, author in chain(
            _worded(corpus, connection, topic),
            _replaced(connection, topic),
            _keyed(connection, topic, corpus.store.now()),
        ):
            yield from _fitting(topic, item, author)


def _worded(corpus: Corpus, connection: Connection, topic: _Topic) -> Iterator[_Told]:
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


def _keyed(connection: Connection, topic: _Topic, now: datetime) -> Iterator[_Told]:
    """Facts by their keys."""
    keyed = [memories.living(topic.space, now), schema.memory.c.key.is_not(None)]
    for memory in memories.find(connection, *keyed):
        key = (memory.key or "").replace("_", " ")
        if topic.wanted <= set(words(key)):
            yield of_memory(memory, "key"), memory.user


def _replaced(connection: Connection, topic: _Topic) -> Iterator[_Told]:
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


def _loose_messages(connection: Connection, topic: _Topic, live: Sequence[str]) -> list[Message]:
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
