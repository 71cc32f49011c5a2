"""Names of the relatives and things that a question asks about: memory knows that Tom's sister is called Beth."""

from collections.abc import Iterator, Set
from dataclasses import replace
from datetime import datetime
from itertools import islice

from hippocampe.engine.corpus import Corpus
from hippocampe.language.difference import proper_names
from hippocampe.language.kin import (
    Relative,
    are_two,
    is_child,
    is_naming,
    is_partner,
    kin_asked,
    kin_words,
    name_of,
    relation,
    relatives_in,
    with_name,
)
from hippocampe.language.named_things import Thing, may_name, things_in
from hippocampe.language.questions import asks
from hippocampe.language.statement import Statement, parse
from hippocampe.language.subjects import proper_names_in
from hippocampe.language.text import STOP_WORDS, fold, words
from hippocampe.retrieval.request import RecallRequest
from hippocampe.store import memories
from hippocampe.types import Memory

MOST_STATEMENTS = 24
"""Statements about relatives that are read for a name."""
MOST_OF_THING = 8
"""Statements about a thing that are read for a name: a turn asks about several things."""
MOST_RELATIVES = 8
"""Relatives of a question that are looked up: a pasted text may name hundreds."""
MOST_NAMES = 3
"""Names of relatives that are searched for."""
_SHARING = ("brother", "partner", "child")
"""Relatives, with their inverse, who have relatives in common."""
_OF_A_KNOWN = ("where", "when", "number")
"""Answers that are asked about something whose name is known."""


def with_names_of_relatives(
    corpus: Corpus,
    question: str,
    request: RecallRequest,
    now: datetime,
    *,
    is_topic: bool = False,
) -> list[str]:
    """Return a question once for each person that it may mean by a relative, with the name; empty if none is known.

    Args:
        corpus: The corpus.
        question: The question.
        request: Its search request.
        now: The time of the question.
        is_topic: It is a topic: "my boss" alone asks for what is known of Priya, where "who is my boss?" asks for her name.
    """
    space, said = request.scope.space, words(question)
    known: Set[str] = frozenset()
    if kin_asked(question):
        # Users are named by no text of their own.
        known = proper_names_in(question) | corpus.vocabulary.counts(space, said).keys()
    relatives: dict[tuple[str | None, str], Relative] = {}
    for each in relatives_in(question, known):
        relatives.setdefault((each.owner, each.kin), each)
    for asked in islice(relatives.values(), MOST_RELATIVES):
        wanted = _owned(asked, request.scope.user)
        names = [] if wanted is None else _names_of(corpus, wanted, request, now)
        if not names and asked.owner is None and is_partner(asked.kin):
            names = _partner_of_two(corpus, asked, request, now)
        if names and not any(fold(name) in said for name in names):
            return [with_name(question, asked.span, name) for name in names[:MOST_NAMES]]
    return _with_names_of_things(corpus, question, request, now, is_topic=is_topic)


def _with_names_of_things(
    corpus: Corpus, question: str, request: RecallRequest, now: datetime, *, is_topic: bool
) -> list[str]:
    """A question once for each thing that it may mean: "when is my boss back?" asks for Priya."""
    things = [each for each in things_in(question, proper_names_in(question)) if each.name is None]
    if not things:
        return []
    frequencies = corpus.vocabulary.counts(
        request.scope.space, frozenset[str]().union(*(each.words for each in things))
    )
    for asked in sorted(things, key=lambda each: len(each.kind), reverse=True)[:MOST_RELATIVES]:
        told = sum(frequencies.get(word, 0) for word in asked.words)
        # Of a common word without an owner, only a part of the statements would be read.
        if not told or (asked.owner is None and told > MOST_STATEMENTS):
            continue
        looked_up = is_topic or asks_more(question, asked)
        if looked_up and (names := _names_of_thing(corpus, question, asked, request, now)):
            return [with_name(question, asked.span, name) for name in names[:MOST_NAMES]]
    return []


def are_relatives(
    corpus: Corpus, request: RecallRequest, one: str, other: str, now: datetime
) -> bool:
    """Return whether memory knows two users as relatives: "Ben is my brother".

    Args:
        corpus: The corpus.
        request: The search request.
        one: A user.
        other: Another user.
        now: The time of the question.
    """
    aliases = corpus.aliases.of(request.scope.space)
    both = [{name, *aliases.get(name, ())} for name in (fold(one), fold(other))]
    kin = frozenset[str]().union(*map(kin_words, _SHARING))
    for memory in _matching(corpus, " ".join(sorted(both[0] | both[1] | kin)), request, now):
        named = {*_names(parse(memory.content)), *both[0], *both[1]}
        for each in relatives_in(memory.content, named):
            told = _owned(each, memory.user)
            pair = (told.owner, told.name) if told else ()
            if all(not names.isdisjoint(pair) for names in both):
                return True
    return False


def may_share_child(
    corpus: Corpus, request: RecallRequest, asked: Relative, user: str, now: datetime
) -> bool:
    """Return whether a child of the asker may be the one that another user tells of.

    Two who are alone in a memory may be its parents, unless the asker has told of such a child too. In a room of several,
    each "my son" is another one, and so is each "my mother" of two.

    Args:
        corpus: The corpus.
        request: The search request of the asker.
        asked: The relative in the question.
        user: The other user.
        now: The time of the question.
    """
    if asked.owner is not None or not is_child(asked.kin):
        return False
    others = _others(corpus, request, now)
    return others <= {fold(user)} and not _tells_of(corpus, asked, request, now)


def _partner_of_two(
    corpus: Corpus, asked: Relative, request: RecallRequest, now: datetime
) -> list[str]:
    """The name of the other of two who are alone in a memory, who may be the partner of the asker.

    Not if the asker has told of such a partner, or one of them tells what they are to each other: "my flatmate Ravi".
    """
    others = _others(corpus, request, now)
    if len(others) != 1 or _tells_of(corpus, asked, request, now):
        return []
    both = {fold(request.scope.user or ""), *others}
    for memory in _matching(corpus, " ".join(sorted(both)), request, now):
        said = set(words(memory.content))
        told = {kin for word in said if (kin := relation(word))}
        named = said.intersection(both - {fold(memory.user or "")})
        if named and told and not any(map(is_partner, told)):
            return []
    return [name.title() for name in others]


def _others(corpus: Corpus, request: RecallRequest, now: datetime) -> set[str]:
    """The folded names of the users of a space besides the asker, if it is small."""
    with corpus.store.read() as connection:
        users = memories.latest_users(connection, request.scope.space, now)
    return {fold(each) for each in users if each} - {fold(request.scope.user or "")}


def _tells_of(corpus: Corpus, asked: Relative, request: RecallRequest, now: datetime) -> bool:
    """Return whether the asker has told of a relative like the one that the question asks for."""
    asker = fold(request.scope.user or "")
    told = _matching(corpus, " ".join(sorted(kin_words(asked.kin))), request, now)
    return any(
        each.owner is None and not are_two(each.kin, asked.kin)
        for memory in told
        if memory.user and fold(memory.user) == asker
        for each in relatives_in(memory.content, ())
    )


def asks_more(question: str, thing: Thing) -> bool:
    """Return whether a question asks for more than the name of a thing, as "who is my dentist?" does."""
    said, (first, last) = words(question), thing.span
    rest = [word for word in (*said[:first], *said[last + 1 :]) if word not in STOP_WORDS]
    return not all(is_naming([word]) for word in rest) or not asks(question).isdisjoint(_OF_A_KNOWN)


def _names_of(
    corpus: Corpus, relative: Relative, request: RecallRequest, now: datetime
) -> list[str]:
    """The names of a relative as they are written."""
    owner = relative.owner or ""
    aliases = corpus.aliases.of(request.scope.space).get(owner, ())
    owners = [replace(relative, owner=name) for name in (owner, *aliases)]
    found: dict[str, str] = {}
    for memory in _statements(corpus, relative, request, now):
        written = _names(parse(memory.content))
        for each in relatives_in(memory.content, written):
            told = _owned(each, memory.user)
            named = (name_of(asked, told) for asked in owners if told is not None)
            found |= {name: written.get(name, name.title()) for name in named if name}
    return list(found.values())


def _names_of_thing(
    corpus: Corpus, question: str, asked: Thing, request: RecallRequest, now: datetime
) -> list[str]:
    """The names of a thing as they are written: of those that are told in its own words, or else of those that are no more.

    "My boss" is the manager rather than the manager of the team, who is meant by "my manager" only without another one.
    """
    owner = fold(request.scope.user or "") if asked.owner == "" else asked.owner
    owners = {owner, *corpus.aliases.of(request.scope.space).get(owner or "", ())}
    text = " ".join([owner or "", *sorted(asked.words)])
    first, last = asked.span
    said = asked.words.intersection(words(question)[first : last + 1])
    found: dict[tuple[bool, int], dict[str, str]] = {}
    for memory in _matching(corpus, text, request, now, limit=MOST_OF_THING):
        if not may_name(memory.content):
            continue
        written = _names(parse(memory.content))
        teller = fold(memory.user or "")
        for told in things_in(memory.content, written):
            is_same = asked.kind <= told.kind and (
                owner is None or (told.owner or teller) in owners
            )
            if is_same and told.name:
                first, last = told.span
                other = said.isdisjoint(words(memory.content)[first : last + 1])
                names = found.setdefault((other, len(told.kind)), {})
                names[told.name] = " ".join(written[word] for word in told.name.split())
    return list(found[min(found)].values()) if found else []


def _owned(relative: Relative, speaker: str | None) -> Relative | None:
    """A relative with the name of the owner; None if nobody knows who speaks."""
    owner = relative.owner or (fold(speaker) if speaker else None)
    return None if owner is None else replace(relative, owner=owner)


def _names(statement: Statement) -> dict[str, str]:
    """The names in a statement as they are written, by their folded form."""
    named = set(proper_names(statement))
    if statement.subject == "name":
        named.add(statement.words[0].norm)
    return {word.norm: word.surface for word in statement.words if word.norm in named}


def _statements(
    corpus: Corpus, relative: Relative, request: RecallRequest, now: datetime
) -> Iterator[Memory]:
    """Current memories with a word for the relative, those that name the owner first."""
    text = " ".join([relative.owner or "", *sorted(kin_words(relative.kin))])
    return _matching(corpus, text, request, now)


def _matching(
    corpus: Corpus, text: str, request: RecallRequest, now: datetime, limit: int = MOST_STATEMENTS
) -> Iterator[Memory]:
    where = request.filter(("memory",), now)
    hits = corpus.index.matching("memory", text, limit=limit, where=where)
    with corpus.store.read() as connection:
        found = memories.get(connection, request.scope.space, [hit.id for hit in hits])
    for hit in hits:
        if hit.id in found and found[hit.id].current:
            yield found[hit.id]
