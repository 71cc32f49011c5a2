"""Import messages of exported conversations: join them into turns, and skip what is stored already."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from hippocampe.engine.writer import Writer
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.ingest import imported_turns
from hippocampe.ingest.formats.record import TalkMessage
from hippocampe.ingest.problems import Problems
from hippocampe.ingest.renamed_chats import RenamedChats
from hippocampe.ingest.turn_drafts import TurnDraft, embed_turns, make_message, make_turn
from hippocampe.types import Message, Progress, Scope

BATCH = 512
"""Messages per transaction: large enough to amortise it, small enough to let other writers in."""
BATCH_CHARACTERS = 4_000_000
"""Characters after which a transaction ends even with fewer messages, to bound the memory."""
MAX_OPEN = 1_000
"""Channels whose last message waits for its reply; beyond it, the message that waits longest is stored alone."""


@dataclass(slots=True)
class MessageImport:
    """Joins messages into turns, stores them in batches, and counts."""

    writer: Writer
    scope: Scope
    one_space: bool
    dry_run: bool
    progress: Progress | None
    problems: Problems
    read: int = 0
    added: int = 0
    known: int = 0
    turns: int = 0
    _characters: int = 0
    _unique: set[str] = field(default_factory=set[str])
    _edited: set[str] = field(default_factory=set[str])
    _titled: set[str] = field(default_factory=set[str])
    _renamed: RenamedChats = field(default_factory=RenamedChats)
    _batch: list[Message] = field(default_factory=list[Message])
    _open: dict[tuple[str, str], Message] = field(default_factory=dict[tuple[str, str], Message])

    def add(self, item: TalkMessage) -> None:
        """Add one message."""
        self.read += 1
        try:
            self._batch.append(self._message(item))
            for holds, ids in (
                (item.unique, self._unique),
                (item.edited, self._edited),
                (item.titled, self._titled),
            ):
                if holds and item.external_id:
                    ids.add(item.external_id)
            self._characters += len(item.content)
        except HippocampeError as exc:
            self.problems.add(item.line, str(exc))
        if len(self._batch) >= BATCH or self._characters >= BATCH_CHARACTERS:
            self._store(last=False)

    def finish(self) -> None:
        """Store the last batch."""
        self._store(last=True)

    def _message(self, item: TalkMessage) -> Message:
        if self.one_space and item.space not in (None, self.scope.space):
            raise InvalidInput("the message names another space than the import: it was left out.")
        space = item.space or self.scope.space
        self.writer.corpus.store.check_space(space)
        return make_message(
            item.content,
            refuse=self.writer.corpus.config.refuse_secrets,
            space=space,
            author=item.author_for(self.scope.user) or None,
            role=item.role,
            channel=item.channel or self.scope.channel,
            at=item.at or self.writer.corpus.store.now(),
            external_id=item.external_id,
            reply_to=item.reply_to,
        )

    def _store(self, *, last: bool) -> None:
        drafts = list(self._pair(self._new(self._batch)))
        self._batch, self._characters = [], 0
        waiting = sum(len(message.content) for message in self._open.values())
        while self._open and (last or len(self._open) > MAX_OPEN or waiting > BATCH_CHARACTERS):
            message = self._open.pop(next(iter(self._open)))
            waiting -= len(message.content)
            drafts.append(make_turn([message]))
        if not self.dry_run:
            try:
                drafts = self._store_turns(drafts)
            except KeyboardInterrupt:
                # It may come after the commit, while the index is updated.
                sent = [message for draft in drafts for message in draft.messages]
                self.added += len(sent) - len(self._new(sent))
                raise
        self._unique &= {str(message.external_id) for message in self._open.values()}
        self._edited.clear()
        self._titled.clear()
        self.turns += len(drafts)
        self.added += sum(len(draft.messages) for draft in drafts)
        if self.progress and self.read:
            self.progress("importing", self.read, 0)

    def _store_turns(self, drafts: list[TurnDraft]) -> list[TurnDraft]:
        """Store turns; return those that another import has not stored meanwhile."""
        while drafts:
            prepared = embed_turns(self.writer.corpus.vocabulary, drafts)
            if imported_turns.store_turns(self.writer, drafts, prepared, self._unique):
                break
            new = {message.id for message in self._new(each for d in drafts for each in d.messages)}
            left = ([each for each in draft.messages if each.id in new] for draft in drafts)
            drafts = [make_turn(messages) for messages in left if messages]
        return drafts

    def _new(self, messages: Iterable[Message]) -> list[Message]:
        """Drop messages that are stored already, by external id."""
        messages = list(messages)
        with self.writer.corpus.store.read() as connection:
            seen = imported_turns.stored_identities(connection, messages)
            titled = [each for each in messages if each.external_id in self._titled]
            elsewhere = self._renamed.stored(connection, titled)
        for message in self._open.values():
            seen |= imported_turns.identities(message, self._unique)
        fresh: list[Message] = []
        ids = {str(each.external_id) for each in messages}
        for message in messages:
            own = imported_turns.identities(message, self._unique)
            edited = message.external_id in self._edited
            if own & seen or message.id in elsewhere:
                self.known += 1
                if edited and message.external_id in self._unique and self._reword(message):
                    self.known -= 1
            elif edited and message.external_id not in self._unique and self._reword(message, ids):
                seen |= own
            else:
                fresh.append(message)
                seen |= own
        return fresh

    def _reword(self, message: Message, others: Collection[str] | None = None) -> bool:
        reworded = not self.dry_run and imported_turns.reword(self.writer, message, others)
        self.added += reworded
        return reworded

    def _pair(self, messages: Iterable[Message]) -> Iterator[TurnDraft]:
        """Pair each user message with the assistant's next one in its channel.

        Every other message is a turn of its own.
        """
        for message in messages:
            place = (message.space, message.channel or "")
            waiting = self._open.pop(place, None)
            if message.role == "assistant" and waiting is not None:
                yield make_turn([waiting, message])
                continue
            if waiting is not None:
                yield make_turn([waiting])
            if message.role == "user":
                self._open[place] = message
            else:
                yield make_turn([message])
