"""Talk comes in from other programs; a space goes out and comes back as JSON Lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hippocampe import archive, listen
from hippocampe.checks import check_text
from hippocampe.errors import HippocampeError
from hippocampe.formats import Problem, TalkMessage, detect_format, read_talk
from hippocampe.listen import Said
from hippocampe.parts import Parts
from hippocampe.rebuild import Progress
from hippocampe.store import talk
from hippocampe.times import as_zone
from hippocampe.types import Imported, Message, Scope

BATCH = 512
"""Messages stored per transaction: enough to share its cost, few enough to let others write."""


def import_from(
    parts: Parts,
    path: Path,
    *,
    scope: Scope,
    format: str | None,
    timezone: str,
    progress: Progress | None,
) -> Imported:
    """Read talk, or an export of ours; what is already there is not added twice.

    Raises:
        UnreadableFile: The file cannot be read as what it claims to be.
        InvalidInput: The format or the timezone is not known.
    """
    check_text("format", format)
    as_zone(timezone)
    if format == archive.FORMAT or (format is None and archive.is_archive(path)):
        return archive.read(parts, path, scope, progress)
    format = format or detect_format(path)
    intake = _Intake(parts, scope, progress)
    try:
        for item in read_talk(path, format=format, timezone=timezone):
            intake.take(item)
        return intake.finish()
    except KeyboardInterrupt as exc:
        exc.add_note(
            f"{intake.added:,} messages are stored and stay. To go on, import the file again: what is "
            "there is not added twice."
        )
        raise


@dataclass(slots=True)
class _Intake:
    """Messages on their way in: made into turns, stored in batches, counted."""

    parts: Parts
    scope: Scope
    progress: Progress | None
    read: int = 0
    added: int = 0
    known: int = 0
    turns: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _batch: list[Message] = field(default_factory=list[Message])
    _open: dict[tuple[str, str], Message] = field(default_factory=dict[tuple[str, str], Message])

    def take(self, item: TalkMessage | Problem) -> None:
        """Add one message, or note one problem."""
        if isinstance(item, Problem):
            self.problems.append((item.line, item.reason))
            return
        self.read += 1
        try:
            self._batch.append(self._message(item))
        except HippocampeError as exc:
            self.problems.append((self.read, str(exc)))
        if len(self._batch) >= BATCH:
            self._store(last=False)

    def finish(self) -> Imported:
        """Store what is left and say what happened."""
        self._store(last=True)
        return Imported(self.read, self.added, self.known, self.turns, tuple(self.problems))

    def _message(self, item: TalkMessage) -> Message:
        return listen.make_message(
            self.parts,
            item.content,
            space=item.space or self.scope.space,
            author=item.author or None,
            role=item.role,
            channel=item.channel or self.scope.channel,
            at=item.at or self.parts.now(),
            external_id=item.external_id,
            reply_to=item.reply_to,
        )

    def _store(self, *, last: bool) -> None:
        said = list(self._pair(self._new(self._batch)))
        self._batch = []
        if last:
            said += [listen.make_turn([message]) for message in self._open.values()]
            self._open.clear()
        if said:
            listen.store(self.parts, said, listen.prepare(self.parts, said))
        self.turns += len(said)
        self.added += sum(len(each.messages) for each in said)
        if self.progress:
            self.progress("importing", self.read, 0)

    def _new(self, messages: Iterable[Message]) -> list[Message]:
        spaces: dict[str, list[Message]] = {}
        for message in messages:
            spaces.setdefault(message.space, []).append(message)
        waiting = {(m.space, m.channel or "", m.external_id) for m in self._open.values()}
        fresh: list[Message] = []
        with self.parts.store.read() as connection:
            for space, group in spaces.items():
                wanted = [(m.channel or "", m.external_id) for m in group if m.external_id]
                seen = talk.known_external_ids(connection, space, wanted)
                for message in group:
                    identity = (message.channel or "", message.external_id or "")
                    if identity in seen or (space, *identity) in waiting:
                        self.known += 1
                    else:
                        fresh.append(message)
                        if message.external_id:
                            seen.add(identity)
        return fresh

    def _pair(self, messages: Iterable[Message]) -> Iterator[Said]:
        """A user message and the assistant's next one in its channel make a turn; others are one."""
        for message in messages:
            place = (message.space, message.channel or "")
            waiting = self._open.pop(place, None)
            if message.role == "assistant" and waiting is not None:
                yield listen.make_turn([waiting, message])
                continue
            if waiting is not None:
                yield listen.make_turn([waiting])
            if message.role == "user":
                self._open[place] = message
            else:
                yield listen.make_turn([message])


def export_to(parts: Parts, path: Path, *, scope: Scope, overwrite: bool) -> int:
    """Write everything of a space as JSON Lines; return how many lines.

    Raises:
        InvalidInput: The file exists, or is one of the data folder's own.
        StoreError: The file cannot be written.
    """
    return archive.write(parts, path, scope, overwrite=overwrite)
