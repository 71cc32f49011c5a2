"""Store the statements of an imported memory by the rules of `remember`, in the order in which they were learnt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.errors import HippocampeError, InvalidInput, NotFound
from hippocampe.ingest.draft import event_time, make_draft
from hippocampe.ingest.formats.record import Statement
from hippocampe.ingest.memory_writes import insert_memory, update_memory
from hippocampe.ingest.problems import Problems
from hippocampe.ingest.remember import decide_and_store, embed_drafts
from hippocampe.ingest.remember_many import BATCH
from hippocampe.language.equality import equality_digest
from hippocampe.store import memories
from hippocampe.store.driver import parts
from hippocampe.types import Progress, Scope
from hippocampe.updates.draft import Draft

ORDERED = 100_000
"""Statements that are put in the order of time before they are stored, to bound the memory."""


_Fresh = tuple[Statement, tuple[str, ...]]
"""A statement, and the id of the memory that it replaces as an edit, if it is one."""


@dataclass(slots=True)
class StatementImport:
    """Puts statements in order, stores them in batches, and counts.

    A statement has its external id as evidence, by which a later import knows it. If its program edited it since, it
    replaces the memory that came of it, unless that was changed later still, or forgotten.
    """

    writer: Writer
    scope: Scope
    dry_run: bool
    progress: Progress | None
    problems: Problems
    read: int = 0
    added: int = 0
    known: int = 0
    _waiting: list[Statement] = field(default_factory=list[Statement])
    _stored: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def add(self, item: Statement) -> None:
        """Add one statement."""
        self.read += 1
        self._waiting.append(item)
        if len(self._waiting) >= ORDERED:
            self._store()

    def finish(self) -> None:
        """Store those that wait."""
        self._store()

    def _store(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        now = self.writer.corpus.store.now()
        waiting.sort(key=lambda each: min(each.at or now, now))
        fresh = self._new(waiting)
        if self.dry_run:
            self.added += len(fresh)
            return
        for start in range(0, len(fresh), BATCH):
            self._store_batch(fresh[start : start + BATCH], now)
            if self.progress:
                self.progress("importing", self.read - len(fresh) + start, self.read)

    def _new(self, items: Sequence[Statement]) -> list[_Fresh]:
        """Drop statements that are stored already, and repetitions within the file."""
        fresh: list[_Fresh] = []
        ended: dict[str, datetime] = {}
        with self.writer.corpus.store.read() as connection:
            for item in items:
                format = item.format
                if format not in self._stored:
                    self._stored[format] = memories.evidence_from(
                        connection, self.scope.space, f"{format}:"
                    )
                known = self._stored[format].get(item.external_id)
                old = self._edited(connection, item, known) if known else None
                if known is None or old:
                    # A repetition within the file is no edit.
                    self._stored[format][item.external_id] = ""
                    changed = item if old is None else replace(item, at=item.changed)
                    fresh.append((changed, (old,) if old else ()))
                else:
                    self.known += 1
                    if known and item.ends:
                        ended[known] = item.ends
        if not self.dry_run:
            self._end(ended)
        return fresh

    def _end(self, ended: Mapping[str, datetime]) -> None:
        """Let memories end whose statements were given an end since, unless they were changed later."""
        for batch in parts(list(ended), BATCH):
            with self.writer.change() as change:
                for old in memories.get(change.connection, self.scope.space, batch).values():
                    if old.current and old.expires_at is None and old.updated_at < ended[old.id]:
                        update_memory(change, replace(old, expires_at=ended[old.id]))

    def _edited(self, connection: Connection, item: Statement, id: str) -> str | None:
        """The id of the memory that an edited statement replaces; None if it was not edited, or earlier than the memory."""
        edit = _edit_of(item)
        if item.changed is None or edit is None or edit in self._stored[item.format]:
            return None
        old = memories.get(connection, self.scope.space, [id]).get(id)
        if old is None or equality_digest(old.content) == equality_digest(item.content):
            return None
        holder = old if old.current else memories.successor(connection, old)
        return holder.id if holder and holder.updated_at < item.changed else None

    def _store_batch(self, items: Sequence[_Fresh], now: datetime) -> None:
        drafts: list[Draft] = []
        lines: list[int] = []
        for item, replaced in items:
            try:
                drafts.append(self._draft(item, replaced, now))
                lines.append(item.line)
            except HippocampeError as exc:
                self.problems.add(item.line, str(exc))
        embedded = embed_drafts(self.writer.corpus.vocabulary, drafts)
        new: list[bool] = []
        try:
            with self.writer.change() as change:
                for line, draft, prepared in zip(lines, drafts, embedded, strict=True):
                    try:
                        new.append(self._decide(change, draft, prepared, now))
                    except (InvalidInput, NotFound) as exc:
                        self.problems.add(line, str(exc))
        except KeyboardInterrupt:
            # It came before the commit, or while the index took what was committed.
            ids = [draft.memory.id for draft in drafts]
            with self.writer.corpus.store.read() as connection:
                self.added += len(memories.get(connection, self.scope.space, ids))
            raise
        self.added += sum(new)
        self.known += len(new) - sum(new)

    def _decide(self, change: UnitOfWork, draft: Draft, prepared: Prepared, now: datetime) -> bool:
        """Store a statement; return whether it was new."""
        memory = draft.memory
        if memory.has_expired(now):
            # What is no longer true decides nothing about the rest.
            insert_memory(change, memory, draft.names, prepared)
            return True
        done = decide_and_store(self.writer.corpus, change, draft, prepared)
        return done.action != "reinforced"

    def _draft(self, item: Statement, replaced: tuple[str, ...], now: datetime) -> Draft:
        scope = replace(self.scope, user=item.user or self.scope.user)
        corpus = self.writer.corpus
        draft = make_draft(
            corpus,
            item.content,
            scope=scope,
            collection=item.collection,
            category=item.category,
            subjects=item.subjects or ((scope.user,) if item.personal and scope.user else ()),
            source=f"import:{item.format}",
            replaces=replaced,
            evidence=[item.external_id, *([edit] if (edit := _edit_of(item)) else [])],
            metadata=item.metadata,
        )
        at = min(item.at or now, now)
        memory = replace(
            draft.memory,
            created_at=at,
            updated_at=at,
            occurred_at=item.occurred_at or event_time(corpus.settings, item.content, scope, at),
            expires_at=item.ends or draft.memory.expires_at,
        )
        lasting = draft.keeps_lifetime or bool(item.ends)
        return replace(draft, memory=memory, keeps_lifetime=lasting, imported=True)


def _edit_of(item: Statement) -> str | None:
    """The evidence of the last edit of a statement; None if it was not edited after it was learnt."""
    edited = item.changed is not None and item.at is not None and item.changed > item.at
    return f"{item.external_id}@{item.changed:%Y-%m-%dT%H:%M:%S.%f}" if edited else None
