"""Digest live talk: turn overheard messages into memories, or into turns without a language model.

Statements are stored and the messages they come from cease to be live in one transaction, so a
message is digested once, also when the process is killed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from hippocampe.curation.rewording import Rewordings
from hippocampe.engine import backlog, model_calls
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.errors import IndexUnavailable, InvalidAnswer
from hippocampe.extraction import talk
from hippocampe.extraction.proposals import (
    ProposedStatement,
    ProposedStatements,
    are_still_known,
    draft_of,
    read_ids,
)
from hippocampe.extraction.talk import Part
from hippocampe.ingest.remember import embed_drafts
from hippocampe.ingest.remember_many import store_drafts
from hippocampe.ingest.turn_drafts import make_turn
from hippocampe.language.prompts import prompt
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.language.small_talk import is_small_talk, reports_small_talk
from hippocampe.language.subjects import subjects_of
from hippocampe.protocols import Filter
from hippocampe.store import embeddings, memories, message_rows, turn_rows
from hippocampe.types import Distilled, Memory, Message, Scope
from hippocampe.updates.draft import Draft

MAX_FAILURES = 4
"""Parts without a usable answer after which a digest ends; each cost several calls."""
SOURCE = "digest"
KNOWN_PER_MESSAGE = 3
MAX_KNOWN = 30
"""Known memories that are shown with a part, nearest first."""


def digest(context: Context, *, scope: Scope) -> Distilled:
    """Turn the live messages of the space into memories now, whatever the `digest_hours`.

    Each message is digested once; messages that arrive meanwhile stay live. Without a configured
    language model they become turns. A call during another digest waits, and finds nothing left.

    Raises:
        ModelError: The language model gave no usable answer. What was digested before stays; the
            rest stays live.
        EmbedderError: Statements cannot be embedded; likewise.
    """
    return run(context, space=scope.space)


def run(context: Context, *, space: str) -> Distilled:
    """Digest the live messages of a space."""
    with context.digesting:
        backlog.catch_up_with_talk(context.writer)
        with context.corpus.store.read() as connection:
            waiting = message_rows.live(connection, space)
        digesting = _Run(context, space, deque(talk.parts(waiting)))
        digesting.go()
        backlog.embed_soon(context.writer)
        return digesting.done


@dataclass(slots=True)
class _Run:
    """One digest."""

    context: Context
    space: str
    waiting: deque[Part]
    done: Distilled = field(default_factory=Distilled)
    failures: list[InvalidAnswer] = field(default_factory=list[InvalidAnswer])
    _halves: set[Part] = field(default_factory=set[Part])

    def go(self) -> None:
        """Digest all parts.

        Raises:
            InvalidAnswer: A part could not be digested.
        """
        while self.waiting:
            part = self.waiting.popleft()
            try:
                self._digest(part)
            except InvalidAnswer as exc:
                self._put_aside(part, exc)
        if self.failures:
            raise self.failures[0]

    def _put_aside(self, part: Part, failure: InvalidAnswer) -> None:
        """Retry a part in halves: its answer may have been too long. Halves are not split again.

        Raises:
            InvalidAnswer: Several parts failed: the model cannot do it.
        """
        half = len(part) // 2
        if half and part not in self._halves:
            halves = (part[half:], part[:half])
            self._halves.update(halves)
            self.waiting.extendleft(halves)
            return
        self.failures.append(failure)
        if len(self.failures) == MAX_FAILURES:
            raise failure

    def _digest(self, part: Part) -> None:
        while True:
            with self.context.corpus.store.read() as connection:
                messages = self._still_live(connection, part)
            drafts, known = list[Draft](), list[Memory]()
            turns = self.context.language_model is None
            if not turns and not all(is_small_talk(message.content) for message in messages):
                known = _known(self.context.corpus, self.space, messages)
                drafts = self._stated(messages, known)
            prepared = embed_drafts(self.context.corpus.vocabulary, drafts) if drafts else []
            with self.context.writer.change() as change:
                live = self._still_live(change.connection, messages)
                if live != messages or not are_still_known(change.connection, known):
                    # Some were erased or forgotten meanwhile: a statement must not rest on them.
                    continue
                if turns:
                    _store_turns(change, messages)
                remembered = store_drafts(self.context.corpus, change, drafts, prepared)
                _clear(change, messages)
            self.done = Distilled(
                messages=self.done.messages + len(messages),
                remembered=(*self.done.remembered, *remembered),
                turns=self.done.turns + (len(messages) if turns else 0),
            )
            return

    def _still_live(self, connection: Connection, part: Part) -> Part:
        ids = [message.id for message in part]
        return tuple(message_rows.live(connection, self.space, ids))

    def _stated(self, messages: Part, nearest: Sequence[Memory]) -> list[Draft]:
        """Ask the model for the statements of a part, and check them."""
        context, chosen = self.context, self.context.corpus.settings.of(self.space)
        authors = [message.author for message in messages if message.author]
        subjects = [*authors, *(name for each in messages for name in subjects_of(each.content))]
        spoken = talk.by_short_id("m", messages)
        known = talk.by_short_id("k", nearest)
        shown = {
            "room": [quote_label(messages[0].channel or "")],
            "messages": talk.lines(spoken, chosen.timezone),
            "known": [f"[{id}] {quote(each.content)}" for id, each in known.items()],
            "density": talk.density(context.corpus.store, self.space, subjects),
        }
        answer = model_calls.ask(
            context,
            "digest",
            prompt("extraction/digest", chosen.language),
            talk.tagged(shown),
            ProposedStatements,
            space=self.space,
        )
        names = list(dict.fromkeys((*chosen.companion_names, *authors)))
        return _drafts(context.corpus, answer.statements, spoken, known, names)


def _drafts(
    corpus: Corpus,
    proposed: Sequence[ProposedStatement],
    messages: Mapping[str, Message],
    known: Mapping[str, Memory],
    names: Sequence[str],
) -> list[Draft]:
    """The proposed statements that can be stored, by the time of their evidence.

    A statement is dropped if it lacks evidence, if it or all its evidence is small talk, if it has expired already, or
    if it cannot be stored. One that only rewords a memory counts as a repetition of it.

    Args:
        messages: The messages of one room by short id, as the model read them.
        known: The memories shown to it, by short id.
        names: The names of the authors and of the companion.
    """
    space = next(iter(messages.values())).space
    found: list[tuple[datetime, Draft]] = []
    for each in proposed:
        ids = dict.fromkeys(id for id in read_ids(each.evidence) if id in messages)
        cited = [messages[id] for id in ids]
        trivial = all(is_small_talk(message.content, names=names) for message in cited)
        if trivial or reports_small_talk(each.content, names=names):
            continue
        authors = {message.author for message in cited}
        draft = draft_of(
            corpus,
            each,
            evidence=cited,
            user=next(iter(authors)) if len(authors) == 1 else None,
            source=SOURCE,
            known=known,
            speakers=talk.speakers(corpus.aliases.of(space), cited),
        )
        if draft is not None:
            found.append((max(message.at for message in cited), draft))
    rewordings = Rewordings(corpus, space, ())
    drafts: list[Draft] = []
    for _, draft in sorted(found, key=lambda pair: pair[0]):
        stated = (*known.values(), *(each.memory for each in drafts))
        old = None if draft.replaces else rewordings.repeated(draft.memory, stated)
        # Equal words are a repetition for the rules of storing.
        words = draft.memory.content if old is None else old.content
        drafts.append(replace(draft, memory=replace(draft.memory, content=words)))
    return drafts


def _store_turns(change: UnitOfWork, messages: Sequence[Message]) -> None:
    """Store each message as a turn of its own, which recall finds from now on."""
    turns = {message.id: make_turn([message]).turn for message in messages}
    turn_rows.add(change.connection, turns.values())
    ids = {message_id: turn.id for message_id, turn in turns.items()}
    message_rows.set_turns(change.connection, ids)
    for turn in turns.values():
        change.index_later("turn", turn.id, turn.space)


def _clear(change: UnitOfWork, messages: Sequence[Message]) -> None:
    message_rows.end_live(change.connection, [message.id for message in messages])
    for message in messages:
        change.unindex("live", message.id, message.space)


def _known(corpus: Corpus, space: str, messages: Sequence[Message]) -> list[Memory]:
    """The current memories nearest to messages, nearest first."""
    where = Filter(space=space, collections=("memory",), now=corpus.store.now().timestamp())
    cosines: dict[str, float] = {}
    with corpus.store.read() as connection:
        ids = [message.id for message in messages if not is_small_talk(message.content)]
        spoken = embeddings.vectors(connection, corpus.model, ids)
        try:
            for each in spoken.values():
                hits = corpus.index.nearest(
                    "memory", each.dense, limit=KNOWN_PER_MESSAGE, where=where
                )
                for hit in hits:
                    cosines[hit.id] = max(hit.score, cosines.get(hit.id, -1.0))
        except IndexUnavailable as exc:
            # The rules of storing still compare each statement with the known memories.
            corpus.outages.failed("index", exc)
        nearest = sorted(cosines, key=lambda id: -cosines[id])[:MAX_KNOWN]
        found = memories.get(connection, space, nearest)
    return [found[id] for id in nearest if id in found and found[id].current]
