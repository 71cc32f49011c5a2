"""Results: rows of the store as recollections."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import compress, takewhile
from operator import not_

from sqlalchemy import Connection

from hippocampe.engine.documents import piece_text
from hippocampe.language.follow_ups import corrects
from hippocampe.language.questions import asks_anything, only_asks
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.subjects import proper_names_in
from hippocampe.retrieval.candidates import Hits
from hippocampe.retrieval.request import RecallRequest
from hippocampe.store import associations, memories, message_rows, notes, turn_rows
from hippocampe.store.driver import grouped, parts
from hippocampe.store.message_rows import Spoken
from hippocampe.store.turn_rows import Turn
from hippocampe.types import MEMORY_COLLECTIONS, Memory, Message, Recollection

Ranked = tuple[str, str, float]
"""Id, kind and score of a result."""

LONGEST_CORRECTION = 80
"""Characters of a message that may only correct the one before it."""
LONGEST_ANSWER = 60
"""Characters of a message that may only answer the reply to the one before it: a longer one mostly tells something else."""
LIVE_READ = 3
"""Live messages among the results that are read: what was said a minute ago loses to much that is known of the
same person, until both are read."""
REPLIED_WITHIN = timedelta(minutes=5)
MOST_FOLLOWING = 4
"""Live messages after one that may answer it."""


def of_single_search(
    connection: Connection, hits: Hits, request: RecallRequest, now: datetime
) -> list[Recollection]:
    """Results of a single search; the score is the cosine, or BM25 squashed to 0-1 by s / (s + 5)."""
    scores = hits.scores["meaning"] or {id: s / (s + 5) for id, s in hits.scores["words"].items()}
    order = sorted(scores, key=lambda id: (-scores[id], id))
    ranked = [(id, hits.kinds[id], max(0.0, min(1.0, scores[id]))) for id in order]
    found = load(connection, ranked, request, now)
    return select(found, ranked, request, successors(connection, found))


def live_among(ranked: Sequence[Ranked], first: int) -> list[Ranked]:
    """Move the best live messages, at most `LIVE_READ`, to the end of the first results."""
    live = [at for at, (_, kind, _) in enumerate(ranked) if kind == "live"][:LIVE_READ]
    moved = {at for at in live if at >= first - len(live)}
    kept = [each for at, each in enumerate(ranked) if at not in moved]
    place = max(first - len(moved), 0)
    return [*kept[:place], *(ranked[at] for at in sorted(moved)), *kept[place:]]


def load(
    connection: Connection, ranked: Sequence[Ranked], request: RecallRequest, now: datetime
) -> list[Recollection]:
    """Load the best results from the store: those that the request wants, and those to read.

    Items that the store hides meanwhile, although the index returned them, and those that the request does not admit are
    skipped.

    Args:
        ranked: All results, best first.
    """
    first, limit = max(request.min_results, request.read), max(request.limit, request.read)
    least = request.min_score or 0.0
    wanted = [rank < first or each[2] >= least for rank, each in enumerate(ranked)]
    found = _admitted(connection, list(compress(ranked, wanted)), limit, request, now)
    if len(found) < first:
        others = list(compress(ranked, map(not_, wanted)))
        found += _admitted(connection, others, first - len(found), request, now)
    return _with_replies(connection, found) if request.read else found


def _admitted(
    connection: Connection,
    ranked: Sequence[Ranked],
    most: int,
    request: RecallRequest,
    now: datetime,
) -> list[Recollection]:
    """Load the first items that the store shows and the request admits."""
    found: list[Recollection] = []
    for batch in parts(ranked, most):
        rows = _rows(connection, batch, request.scope.space, now)
        shown = [replace(rows[id], score=score) for id, _, score in batch if id in rows]
        found += [each for each in shown if request.admits is None or request.admits(each)]
        if len(found) >= most:
            break
    return found


def undecided(
    connection: Connection, found: Sequence[Recollection], space: str
) -> list[tuple[str, str, float]]:
    """The undecided pairs of memories among results, as `associations.perhaps_updates` gives them."""
    ids = [each.id for each in found if each.memory is not None]
    return associations.perhaps_updates(connection, space, ids) if len(ids) > 1 else []


def successors(connection: Connection, found: Sequence[Recollection]) -> dict[str, Memory]:
    """The current successors of former memories among results, by the ids of these."""
    former = [each.memory for each in found if each.memory is not None and each.memory.former]
    newer = {each.id: _successor(connection, each) for each in former}
    return {id: memory for id, memory in newer.items() if memory is not None}


def select(
    found: Sequence[Recollection],
    ranked: Sequence[Ranked],
    request: RecallRequest,
    newer: Mapping[str, Memory],
) -> list[Recollection]:
    """The loaded results that the request wants, with former memories below their successors.

    A successor among the candidates comes first, with at least the score of the former memory.

    Args:
        found: The loaded results, best first.
        ranked: As for `load`.
        newer: Their `successors`.
    """
    least = request.min_score or 0.0
    wanted = [
        each for rank, each in enumerate(found) if each.score >= least or rank < request.min_results
    ][: request.limit]
    scores = {id: score for id, _, score in ranked} if newer else {}
    placed: dict[str, Recollection] = {}
    for each in wanted:
        after = newer.get(each.id)
        if after is not None and after.id in scores and after.id not in placed:
            placed[after.id] = of_memory(after, max(each.score, scores[after.id]))
        placed.setdefault(each.id, each)
    return list(placed.values())[: request.limit]


def _successor(connection: Connection, memory: Memory | None) -> Memory | None:
    if memory is None or memory.current:
        return None
    return memories.successor(connection, memory)


def by_id(
    connection: Connection, ranked: Sequence[Ranked], space: str, now: datetime
) -> dict[str, Recollection]:
    """The items of a space by id; those that the store hides are left out.

    Args:
        ranked: Id, kind and score of each.
    """
    rows = _rows(connection, ranked, space, now)
    return {id: replace(rows[id], score=score) for id, _, score in ranked if id in rows}


def kind_of(collection: str) -> str:
    """The kind of the points of a collection."""
    return "memory" if collection in MEMORY_COLLECTIONS else collection


def _rows(
    connection: Connection, batch: Sequence[Ranked], space: str, now: datetime
) -> dict[str, Recollection]:
    of_kind = grouped((kind, id) for id, kind, _ in batch)
    rows: dict[str, Recollection] = {}
    if "memory" in of_kind:
        for memory in memories.get(connection, space, of_kind["memory"]).values():
            if _shown(connection, memory, now):
                rows[memory.id] = of_memory(memory)
    if "turn" in of_kind:
        external = turn_rows.external_ids(connection, of_kind["turn"])
        turns = turn_rows.get(connection, space, of_kind["turn"])
        for turn in _with_completions(connection, space, turns.values()):
            if turn.forgotten_at is None:
                rows[turn.id] = of_turn(turn, external.get(turn.id, ()))
    if "live" in of_kind:
        for message in message_rows.live(connection, space, of_kind["live"]):
            rows[message.id] = of_live(message)
    if "note" in of_kind:
        for piece in notes.get(connection, space, of_kind["note"]):
            rows[piece.id] = Recollection(
                piece.id, "note", piece_text(piece), 0.0, at=piece.modified_at
            )
    return rows


def _with_completions(
    connection: Connection, space: str, turns: Collection[Turn]
) -> Iterator[Turn]:
    """Turns, each with what its author said in the next one to correct it, or to answer the question of its reply.

    Alone, "no wait, 4" and "Friday lunch" mean nothing.
    """
    next_ids = [each.next_id for each in turns if each.next_id]
    following = turn_rows.get(connection, space, next_ids)
    for each in turns:
        after = following.get(each.next_id or "")
        if after is not None and after.session == each.session and after.author == each.author:
            said = after.content.partition("\n")[0]
            if after.forgotten_at is None and _completes(said, each):
                each = replace(
                    each, content=_with_lines(each.content, [Spoken(after.author, said)])
                )
        yield each


def _completes(said: str, before: Turn) -> bool:
    """Return whether a message corrects the one before it, or answers the question of the reply to that."""
    if len(said) <= LONGEST_CORRECTION and corrects(said, proper_names_in(said)):
        return True
    reply = before.content.partition("\n")[2]
    asked = reply.endswith("?") and len(said) <= LONGEST_ANSWER
    return asked and not (only_asks(said) or is_small_talk(said))


def _with_replies(connection: Connection, found: list[Recollection]) -> list[Recollection]:
    """Results, each live message with what answers it, or with a question about it and its answer.

    Alone, "yes, but too long" means nothing.
    """
    live = [each.id for each in found if each.kind == "live" and not is_small_talk(each.content)]
    if not live:
        return found
    after = message_rows.live_after(connection, live, REPLIED_WITHIN)
    replies = {each.id: _replies(each, after[each.id]) for each in found if each.id in after}
    return [
        replace(each, content=_with_lines(each.content, replies[each.id]))
        if each.id in replies
        else each
        for each in found
    ]


def _with_lines(content: str, replies: Sequence[Spoken]) -> str:
    return "\n".join((content, *map(reply_line, replies)))


def _replies(said: Recollection, after: Sequence[Spoken]) -> Sequence[Spoken]:
    following = [each for each in after[:MOST_FOLLOWING] if not is_small_talk(each.content)]
    if not following or asks_anything(said.content):
        return list(takewhile(lambda each: _answers(each, said), following))
    asked, *others = following
    answered = any(each.author == said.author for each in others[:1])
    by_another = asked.author != said.author and asks_anything(asked.content)
    return following[:2] if answered and by_another else ()


def reply_line(said: Spoken | Recollection) -> str:
    """The line of what follows a message in its content: its author and the words."""
    return f"{said.author}: {said.content}" if said.author else said.content


def _answers(after: Spoken, asked: Recollection) -> bool:
    """Return whether a message may answer a question before it."""
    return after.author != asked.author and not asks_anything(after.content)


def _shown(connection: Connection, memory: Memory, now: datetime) -> bool:
    """Return whether recall finds a memory: it is current, or a former one with a current successor."""
    newer = _successor(connection, memory) if memory.former else memory
    return (
        memory.forgotten_at is None
        and newer is not None
        and newer.current
        and not any(each.has_expired(now) for each in (memory, newer))
    )


def of_memory(memory: Memory, score: float = 0.0) -> Recollection:
    """A memory as a recollection."""
    return Recollection(
        memory.id,
        memory.collection,
        memory.content,
        score,
        memory,
        channel=memory.channel,
        author=memory.user,
        at=memory.occurred_at or memory.created_at,
    )


def of_live(message: Message) -> Recollection:
    """A live message as a recollection."""
    return Recollection(
        message.id,
        "live",
        message.content,
        0.0,
        channel=message.channel,
        author=message.author,
        at=message.at,
        external_ids=(message.external_id,) if message.external_id else (),
    )


def of_turn(turn: Turn, external_ids: tuple[str, ...] = ()) -> Recollection:
    """A turn as a recollection."""
    return Recollection(
        turn.id,
        "turn",
        turn.content,
        0.0,
        channel=turn.channel or None,
        author=turn.author,
        at=turn.at,
        external_ids=external_ids,
    )
