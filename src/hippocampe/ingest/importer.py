"""Import conversations and memories exported by other programs, or an archive of a space; export a space."""

import os
import stat
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput
from hippocampe.ingest import archive, bundle
from hippocampe.ingest.formats.record import Problem, Statement, TalkMessage
from hippocampe.ingest.formats.registry import FORMATS as TALK_FORMATS
from hippocampe.ingest.formats.registry import open_file, read_file
from hippocampe.ingest.message_import import MessageImport
from hippocampe.ingest.problems import Problems
from hippocampe.ingest.statement_import import StatementImport
from hippocampe.language.datetimes import as_zone
from hippocampe.language.secrets import mask
from hippocampe.store.store import Store
from hippocampe.types import Imported, Progress, Scope, normal_label
from hippocampe.validation import check_choice, check_flag, check_path, check_text

FORMATS: Mapping[str, str] = {name: each.title for name, each in TALK_FORMATS.items()} | {
    archive.FORMAT: "Hippocampe"
}
"""The formats of `import_from` by name, with the program that writes each."""
PREVIEWED = 5
"""First messages that a preview shows."""


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
    source = _source(path)
    check_text("format", format)
    as_zone(timezone)
    check_flag("one_space", one_space)
    check_flag("dry_run", dry_run)
    if _is_archive(source, format):
        return archive.load(writer, source, scope, progress, dry_run=dry_run)
    problems = Problems()
    talk = MessageImport(writer, scope, one_space, dry_run, progress, problems)
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


def _source(path: str | os.PathLike[str]) -> Path:
    source = check_path("path", path)
    mode = stat.S_IFREG
    with suppress(OSError):
        mode = source.stat().st_mode
    # The format is detected by reading it several times, and a device may have no end.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InvalidInput(
            f"cannot import {source}: it is a device or a pipe. Save its content to a file first."
        )
    return source


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
    source = _source(path)
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


def export_to(
    store: Store,
    path: str | os.PathLike[str],
    *,
    scope: Scope,
    format: str = archive.FORMAT,
    user: str | None = None,
    overwrite: bool = False,
) -> int:
    """Write everything of the space as JSON Lines, or as Markdown; return how many lines or files.

    `import_from` reads both back with nothing lost.

    Args:
        path: Where to.
        scope: The space; its user and channel do not count.
        user: Only the memories and exchanges of this user, with the answers, past and forgotten ones included.
        format: `hippocampe` (JSON Lines), or `okf`: a zip of Markdown files in Open Knowledge Format, for Obsidian.
        overwrite: Replace a file that exists; a failure leaves it as it was.

    Raises:
        InvalidInput: The file exists, or is one of the data folder's own; `path` is no path; the format is unknown.
        StoreError: The file cannot be written.
    """
    target = check_path("path", path)
    save = _SAVING[check_choice("format", format, _SAVING)]
    check_text("user", user)
    said_by = None if user is None else normal_label(user)
    return save(store, target, scope, said_by, overwrite=check_flag("overwrite", overwrite))


_SAVING = {archive.FORMAT: archive.save, bundle.FORMAT: bundle.save}
