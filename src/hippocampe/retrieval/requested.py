"""Read a request to forget in a message, and find what it hides. Nothing is changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from hippocampe.engine.corpus import Corpus
from hippocampe.language.forgetting import ForgetRequest, agrees, read_request, shortened, topics_in
from hippocampe.language.secrets import mask
from hippocampe.language.temporal.window import TimeWindow, parse_window
from hippocampe.language.text import STOP_WORDS, words
from hippocampe.retrieval import about
from hippocampe.retrieval.reading import LONG
from hippocampe.retrieval.relatives import with_names_of_relatives
from hippocampe.retrieval.request import RecallRequest
from hippocampe.retrieval.topic import words_said
from hippocampe.store import memories, message_rows, retrievals, schema, turn_rows
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Forgetting, ReceiptItem, Scope

MOST_AT_ONCE: Final = 5
"""More items are hidden only when the user confirms."""
CONFIRMED_WITHIN: Final = timedelta(hours=1)
MOST_OF_A_TIME: Final = 1_000
"""Turns and memories of the time that a request names."""
MOST_ANSWERS: Final = 100
"""Latest turns that were given a memory, whose replies are compared with it."""
ANSWERED_WITHIN: Final = timedelta(minutes=10)
"""Longest time between an injection and the turn that it was for."""
_RECENT: Final = 5
"""Latest turns of the channel among which the user's last one is looked for: others talk there too."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to forget, and the turn that made it if the message only confirms it."""

    request: ForgetRequest
    confirmed: Turn | None = None


def read(corpus: Corpus, message: str, scope: Scope) -> Asked | None:
    """The request to forget that a message makes, or confirms by "yes"; None without one."""
    message = mask(message)
    if (request := read_request(message)) is not None:
        return Asked(request)
    before = _last_turn(corpus, scope) if agrees(message) else None
    request = None if before is None else read_request(_said_in(corpus, before))
    return None if request is None else Asked(request, before)


def plan(corpus: Corpus, asked: Asked, scope: Scope, *, replies: bool = True) -> Forgetting | None:
    """The items that a request to forget hides; None if it must have meant something else.

    Args:
        replies: Look for replies that repeat an item, too: this reads the whole log of the space.
    """
    request, before = asked.request, asked.confirmed
    if request.whole:
        return None if before else Forgetting(request.topic, (), waits=True, whole=True)
    items, earlier, sure = _found(corpus, asked, scope)
    if not items and (shorter := shortened(request.topic)):
        asked = replace(asked, request=replace(request, topic=shorter))
        items, earlier, sure = _found(corpus, asked, scope)
    if not items and (before is not None or not request.sure):
        # Nothing is known of "forget the dinner"; or "yes" answers another question.
        return None
    if before is not None:
        confirmed = _of_turn(before, "said")
        items = list({each.id: each for each in (*items, confirmed)}.values())
    unclear = any(about.UNCLEAR in each.matched for each in items)
    # Much else would go with a long text.
    long = bool(request.topic) and any(_is_long(each) for each in items)
    doubted = not sure or unclear or long or len(items) > MOST_AT_ONCE
    waits = before is None and bool(items) and doubted
    known = {each.id for each in items}
    repeating = earlier + (_answers(corpus, items, scope) if replies else [])
    items += (each for each in repeating if each.id not in known)
    return Forgetting(request.topic or request.said, tuple(items), waits)


def _found(
    corpus: Corpus, asked: Asked, scope: Scope
) -> tuple[list[ReceiptItem], list[ReceiptItem], bool]:
    """The items that a request names, the earlier requests among them, and whether it certainly means the items."""
    request, before = asked.request, asked.confirmed
    # The request itself has the words of its topic.
    itself = frozenset({before.id} if before else ())
    found, earlier, sure = list[ReceiptItem](), list[ReceiptItem](), request.sure
    window = _window(corpus, asked, scope)
    for topic in topics_in(request.topic) if request.topic else ():
        every = about.find(corpus, topic, scope, said=request.own, without=itself)
        told, requests = about.without_requests(corpus, [*every, *_by_name(corpus, topic, scope)])
        if not any(about.is_exact(each) for each in told):
            likely = about.likely(
                corpus, topic, scope, sure=request.asked, without=itself, window=window
            )
            likely, more = about.without_requests(corpus, likely)
            nearest = about.nearest(corpus, topic, scope, told, likely)
            sure = sure and nearest == told
            told = nearest
            requests += more
        found += told
        earlier += requests
    if not request.topic:
        found, earlier = about.without_requests(corpus, _said(corpus, window, scope))
    elif window:
        then = [each for each in found if window.start <= _told_at(each) < window.end]
        # People remember wrongly when they told something.
        found, sure = then or found, sure and bool(then)
    found = _once([*found, *_evidence(corpus, found, scope)])
    return [each for each in found if each.id not in itself], _once(earlier), sure


def _is_long(item: ReceiptItem) -> bool:
    return item.kind == "turn" and len(words_said(item.content)) > LONG


def _once(items: Iterable[ReceiptItem]) -> list[ReceiptItem]:
    known: dict[str, ReceiptItem] = {}
    for each in items:
        known.setdefault(each.id, each)
    return list(known.values())


def _told_at(item: ReceiptItem) -> datetime:
    return item.memory.created_at if item.memory else item.at


def _window(corpus: Corpus, asked: Asked, scope: Scope) -> TimeWindow | None:
    """The time in which a request says that something was told: "what I told you yesterday about the job"."""
    now = asked.confirmed.at if asked.confirmed else corpus.store.now()
    timezone = corpus.settings.of(scope.space).timezone
    return parse_window(asked.request.said, now=now, timezone=timezone)


def _by_name(corpus: Corpus, topic: str, scope: Scope) -> list[ReceiptItem]:
    """Statements of the user about a relative of the topic, by their name: memory knows that "my ex" is called Jason."""
    now = corpus.store.now()
    topics = with_names_of_relatives(corpus, topic, RecallRequest(scope), now, is_topic=True)
    found = (item for each in topics for item in about.named(corpus, each, scope))
    return [replace(each, matched=(*each.matched, about.UNCLEAR)) for each in found]


def _said(corpus: Corpus, window: TimeWindow | None, scope: Scope) -> list[ReceiptItem]:
    """The talk and the memories of the user in a time, or else just before."""
    if window is None:
        last = _last_turn(corpus, scope)
        return [] if last is None else [_of_turn(last, "said"), *_resting_on(corpus, last)]
    table = schema.memory.c
    with corpus.store.read() as connection:
        turns = turn_rows.latest(
            connection,
            scope.space,
            channel=None,
            since=window.start,
            until=window.end,
            limit=MOST_OF_A_TIME,
        )
        told = memories.find(
            connection,
            memories.living(scope.space, corpus.store.now()),
            table.user == scope.user,
            table.created_at >= window.start,
            table.created_at < window.end,
            limit=MOST_OF_A_TIME,
        )
    own = [each for each in turns if each.author == scope.user]
    found = [_of_turn(each, "said") for each in own]
    found += (item for each in own for item in _resting_on(corpus, each))
    return found + [about.of_memory(each, "said") for each in told]


def _last_turn(corpus: Corpus, scope: Scope) -> Turn | None:
    """The last turn of the user in the channel, if it is recent."""
    since = corpus.store.now() - CONFIRMED_WITHIN
    with corpus.store.read() as connection:
        latest = turn_rows.latest(
            connection,
            scope.space,
            channel=scope.channel,
            since=since,
            until=None,
            limit=_RECENT,
        )
    own = (
        each
        for each in latest
        if each.author == scope.user and each.channel == (scope.channel or "")
    )
    return next(own, None)


def _said_in(corpus: Corpus, turn: Turn) -> str:
    """The words of the user in a turn."""
    with corpus.store.read() as connection:
        spoken = message_rows.find(connection, schema.message.c.turn_id == turn.id)
    return next((each.content for each in spoken if each.role == "user"), "")


def _resting_on(corpus: Corpus, turn: Turn) -> Iterator[ReceiptItem]:
    """The memories made from a turn."""
    with corpus.store.read() as connection:
        said = message_rows.find(connection, schema.message.c.turn_id == turn.id)
        found = memories.resting_on(connection, turn.space, [each.id for each in said])
    return (about.of_memory(memory, "said") for memory in found)


def _evidence(corpus: Corpus, found: Iterable[ReceiptItem], scope: Scope) -> list[ReceiptItem]:
    """The turns in which memories were told."""
    # A summary was made of all that was said, not told in it.
    told = {
        id
        for each in found
        if each.memory and each.memory.collection != "summary"
        for id in each.memory.evidence
    }
    with corpus.store.read() as connection:
        ids = message_rows.turns_of(connection, told)
        turns = turn_rows.get(connection, scope.space, ids)
    return [_of_turn(each, "evidence") for each in turns.values() if each.forgotten_at is None]


def _answers(corpus: Corpus, found: Iterable[ReceiptItem], scope: Scope) -> list[ReceiptItem]:
    """The turns that were given one of the memories, and whose reply has a word of it that the user did not say."""
    repeating: dict[str, Turn] = {}
    with corpus.store.read() as connection:
        for item in (each for each in found if each.memory is not None):
            told = set(words(item.content)) - STOP_WORDS
            for given in retrievals.giving(connection, scope.space, item.id, MOST_ANSWERS):
                served = turn_rows.latest(
                    connection,
                    scope.space,
                    author=given.user,
                    channel=given.channel or "",
                    since=given.created_at,
                    until=given.created_at + ANSWERED_WITHIN,
                    oldest_first=True,
                    limit=1,
                )
                for turn in served:
                    asked = message_rows.said_in(connection, [turn.id]).get(turn.id, "")
                    if not told.isdisjoint(set(words(turn.content)) - set(words(asked))):
                        repeating[turn.id] = turn
    return [_of_turn(each, "answer") for each in repeating.values()]


def _of_turn(turn: Turn, matched: str) -> ReceiptItem:
    return ReceiptItem(turn.id, "turn", turn.content, turn.at, (matched,))
