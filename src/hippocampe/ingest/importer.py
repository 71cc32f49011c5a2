"""Import conversations and memories exported by other programs, or an archive of a space; export a space."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from hippocampe.engine.writer import Writer
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.ingest import archive, bundle, conversation
from hippocampe.ingest.conversation import TurnDraft
from hippocampe.ingest.formats.record import Problem, Statement, TalkMessage
from hippocampe.ingest.formats.registry import FORMATS as TALK_FORMATS
from hippocampe.ingest.formats.registry import open_file, read_file
from hippocampe.ingest.problems import Problems
from hippocampe.ingest.statement_import import StatementImport
from hippocampe.language.datetimes import as_zone
from hippocampe.language.secrets import mask
from hippocampe.store import message_rows
from hippocampe.store.store import Store
from hippocampe.types import Imported, Message, Progress, Scope
from hippocampe.validation import check_choice, check_flag, check_path, check_text

FORMATS: Mapping[str, str] = {name: each.title for name, each in TALK_FORMATS.items()} | {
    archive.FORMAT: "Hippocampe"
}
"""The formats of `import_from` by name, with the program that writes each."""
PREVIEWED = 5
"""First messages that a preview shows."""
BATCH = 512
"""Messages per transaction: large enough to amortise it, small enough to let other writers in."""
BATCH_CHARACTERS = 4_000_000
"""Characters after which a transaction ends even with fewer messages, to bound the memory."""
RENAMED = 3
"""Fewest messages by which a chat is known under another name: two may be the same in two chats."""
MAX_OPEN = 1_000
"""Channels whose last message waits for its reply; beyond it, the message that waits longest is stored alone."""


def import_from(
    writer: Writer,
    path: str | os.PathLike[str],
    *,
    scope: Scope,
    format: str | None = None,
    timezone: str = "Europe/Paris",
    one_space: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Read talk or the memories of another program, or an export of ours. What is already there is not added twice.

    Imported statements keep their dates and follow the rules of `remember`, in the order of time: one that is older
    than the memory it differs from, or than its last edit or repetition, becomes its history.

    Args:
        path: The file; notes may be a folder.
        scope: The space, and the user and the channel of what names none.
        format: One of `hippocampe.hippocampe.IMPORT_FORMATS`; default: detected from the file.
        timezone: Timezone of times without one.
        one_space: Leave out messages that name another space, and report them as problems;
            otherwise they go to the space that they name.
        dry_run: Store nothing, and return what would be added. Statements that would only repeat others count too.
        progress: Called while messages are stored.

    Raises:
        UnreadableFile: The file cannot be read as what it claims to be.
        InvalidInput: The format or the timezone is not known.
    """
    source = check_path("path", path)
    check_text("format", format)
    as_zone(timezone)
    check_flag("one_space", one_space)
    check_flag("dry_run", dry_run)
    if _is_archive(source, format):
        return archive.load(writer, source, scope, progress, dry_run=dry_run)
    problems = Problems()
    talk = _MessageImport(writer, scope, one_space, dry_run, progress, problems)
    statements = StatementImport(writer, scope, dry_run, progress, problems)
    try:
        for item in read_file(source, format=format, timezone=timezone):
            if isinstance(item, Problem):
                problems.add(item.line, item.reason)
            elif isinstance(item, Statement):
                statements.add(item)
            else:
                talk.add(item)
        talk.finish()
        statements.finish()
    except KeyboardInterrupt as exc:
        stored = [
            f"{number:,} {kind}"
            for number, kind in ((talk.added, "messages"), (statements.added, "statements"))
            if number
        ]
        exc.add_note(
            f"so far, {' and '.join(stored) or 'no messages'} are stored. Import the same file again to resume: "
            "what is stored is skipped."
        )
        raise
    return Imported(
        talk.read + statements.read,
        talk.added + statements.added,
        talk.known + statements.known,
        talk.turns,
        problems.listed(),
    )


def _is_archive(source: Path, format: str | None) -> bool:
    return format == archive.FORMAT or (format is None and archive.is_archive(source))


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """The contents of a file, before its import.

    Attributes:
        format: The format of its first file, one of `FORMATS`.
        counts: Numbers by kind: messages and memories, or the rows of an archive.
        formats: The formats of all of its files.
        authors: Numbers of messages by author, most first.
        channels: Numbers of messages by channel, most first.
        first_at: The earliest time, if there is one.
        last_at: The latest time.
        first: The first messages.
        statements: The first statements.
        problems: As in `Imported`.
        known: The number that is stored already, from a dry run of the import; None if there was none.
    """

    format: str
    counts: Mapping[str, int]
    formats: tuple[str, ...]
    authors: Mapping[str, int] = field(default_factory=dict[str, int])
    channels: Mapping[str, int] = field(default_factory=dict[str, int])
    first_at: datetime | None = None
    last_at: datetime | None = None
    first: tuple[TalkMessage, ...] = ()
    statements: tuple[Statement, ...] = ()
    problems: tuple[tuple[int, str], ...] = ()
    known: int | None = None

    @property
    def programs(self) -> str:
        """The names of the programs that write its formats, for people."""
        return ", ".join(dict.fromkeys(FORMATS[each] for each in self.formats))


def preview(
    path: str | os.PathLike[str], *, format: str | None = None, timezone: str = "Europe/Paris"
) -> ImportPreview:
    """Read a file as `import_from` does, and store nothing. The arguments and errors are the same."""
    source = check_path("path", path)
    if _is_archive(source, format):
        return ImportPreview(archive.FORMAT, archive.count_rows(source), (archive.FORMAT,))
    formats, records = open_file(source, format=format, timezone=timezone)
    problems = Problems()
    authors, channels = Counter[str](), Counter[str]()
    first: list[TalkMessage] = []
    statements: list[Statement] = []
    memories = 0
    times: list[datetime] = []
    for item in records:
        if isinstance(item, Problem):
            problems.add(item.line, item.reason)
            continue
        if item.at is not None:
            times = [min([item.at, *times]), max([item.at, *times])]
        if isinstance(item, Statement):
            memories += 1
            if len(statements) < PREVIEWED:
                statements.append(replace(item, content=mask(item.content)))
            continue
        authors[item.author] += 1
        channels[item.channel or ""] += 1
        if len(first) < PREVIEWED:
            first.append(replace(item, content=mask(item.content)))
    counts = {"memory": memories, "message": authors.total()}
    return ImportPreview(
        formats[0],
        {kind: number for kind, number in counts.items() if number} or {"message": 0},
        formats,
        dict(authors.most_common()),
        dict(channels.most_common()),
        times[0] if times else None,
        times[-1] if times else None,
        tuple(first),
        tuple(statements),
        problems.listed(),
    )


@dataclass(slots=True)
class _MessageImport:
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
    _former: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """Channels with the former names of their chats, by space."""
    _batch: list[Message] = field(default_factory=list[Message])
    _open: dict[tuple[str, str], Message] = field(default_factory=dict[tuple[str, str], Message])

    def add(self, item: TalkMessage) -> None:
        """Add one message."""
        self.read += 1
        try:
            self._batch.append(self._message(item))
            for holds, ids in (
                (item.unique, self._unique),
                (item.edited and item.unique, self._edited),
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
        # An assistant's export calls its user so.
        unnamed = item.role == item.author == "user"
        return conversation.make_message(
            item.content,
            refuse=self.writer.corpus.config.refuse_secrets,
            space=space,
            author=(self.scope.user if unnamed else None) or item.author or None,
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
            drafts.append(conversation.make_turn([message]))
        while drafts and not self.dry_run:
            prepared = conversation.embed_turns(self.writer.corpus.vocabulary, drafts)
            if conversation.store_turns(self.writer, drafts, prepared, self._unique):
                break
            # Meanwhile, another import has stored some of them.
            new = {message.id for message in self._new(each for d in drafts for each in d.messages)}
            left = ([each for each in draft.messages if each.id in new] for draft in drafts)
            drafts = [conversation.make_turn(messages) for messages in left if messages]
        self._unique &= {str(message.external_id) for message in self._open.values()}
        self._edited.clear()
        self._titled.clear()
        self.turns += len(drafts)
        self.added += sum(len(draft.messages) for draft in drafts)
        if self.progress and self.read:
            self.progress("importing", self.read, 0)

    def _new(self, messages: Iterable[Message]) -> list[Message]:
        """Drop messages that are stored already, by external id."""
        messages = list(messages)
        with self.writer.corpus.store.read() as connection:
            seen = conversation.stored_identities(connection, messages)
            elsewhere = self._under_former_names(connection, messages)
        for message in self._open.values():
            seen |= conversation.identities(message, self._unique)
        fresh: list[Message] = []
        for message in messages:
            own = conversation.identities(message, self._unique)
            if own & seen or message.id in elsewhere:
                self.known += 1
                if message.external_id in self._edited:
                    self._reword(message)
            else:
                fresh.append(message)
                seen |= own
        return fresh

    def _reword(self, message: Message) -> None:
        if not self.dry_run and conversation.reword(self.writer, message):
            self.known -= 1
            self.added += 1

    def _under_former_names(self, connection: Connection, messages: Sequence[Message]) -> set[str]:
        """The ids of the messages that are stored in the channel of a former name of their chat.

        A chat was renamed if most of its messages are in another channel, of the time that those span.
        """
        titled = [each for each in messages if each.external_id in self._titled]
        stored: dict[tuple[str, str | None, datetime, str], set[str]] = {}
        for space in {each.space for each in titled}:
            times = {each.at for each in titled if each.space == space}
            for each in message_rows.at_times(connection, space, times):
                stored.setdefault((space, *_said(each)), set()).add(each.channel or "")
        found: set[str] = set()
        for space, channel in {(each.space, each.channel or "") for each in titled}:
            ours = [each for each in titled if (each.space, each.channel or "") == (space, channel)]
            places = [stored.get((space, *_said(each)), set[str]()) for each in ours]
            for other in set[str]().union(*places) - {channel}:
                same = [each for each, names in zip(ours, places, strict=True) if other in names]
                first, last = min(each.at for each in same), max(each.at for each in same)
                spanned = sum(first <= each.at <= last for each in ours)
                if len(same) >= RENAMED and 2 * len(same) > spanned:
                    self._former.add((space, channel, other))
                if (space, channel, other) in self._former:
                    found |= {each.id for each in same}
        return found

    def _pair(self, messages: Iterable[Message]) -> Iterator[TurnDraft]:
        """Pair each user message with the assistant's next one in its channel.

        Every other message is a turn of its own.
        """
        for message in messages:
            place = (message.space, message.channel or "")
            waiting = self._open.pop(place, None)
            if message.role == "assistant" and waiting is not None:
                yield conversation.make_turn([waiting, message])
                continue
            if waiting is not None:
                yield conversation.make_turn([waiting])
            if message.role == "user":
                self._open[place] = message
            else:
                yield conversation.make_turn([message])


def _said(message: Message) -> tuple[str | None, datetime, str]:
    """The author, the time and the text of a message; no author for the person whose name the chat has."""
    return (
        None if message.author == message.channel else message.author,
        message.at,
        message.content,
    )


def export_to(
    store: Store,
    path: str | os.PathLike[str],
    *,
    scope: Scope,
    format: str = archive.FORMAT,
    overwrite: bool = False,
) -> int:
    """Write everything of the space as JSON Lines, or as Markdown; return how many lines or files.

    `import_from` reads both back with nothing lost.

    Args:
        path: Where to.
        scope: The space.
        format: `hippocampe` (JSON Lines), or `okf`: a zip of Markdown files in Open Knowledge Format, for Obsidian.
        overwrite: Replace a file that exists; a failure leaves it as it was.

    Raises:
        InvalidInput: The file exists, or is one of the data folder's own; `path` is no path; the format is unknown.
        StoreError: The file cannot be written.
    """
    target = check_path("path", path)
    save = _SAVING[check_choice("format", format, _SAVING)]
    return save(store, target, scope, overwrite=check_flag("overwrite", overwrite))


_SAVING = {archive.FORMAT: archive.save, bundle.FORMAT: bundle.save}
