"""Detect the format of an exported conversation or memory and read it.

To add a format, declare a `Format` in a module of its own, and add it to `FORMATS`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import chain
from pathlib import Path

from hippocampe.errors import HippocampeError, InvalidInput, UnreadableFile, shown
from hippocampe.ingest.formats.assistants import CHATGPT, CLAUDE
from hippocampe.ingest.formats.discord import DISCORD
from hippocampe.ingest.formats.format import Format
from hippocampe.ingest.formats.jsonl import JSONL
from hippocampe.ingest.formats.letta import LETTA
from hippocampe.ingest.formats.markdown import MARKDOWN
from hippocampe.ingest.formats.memories import (
    CHATGPT_MEMORIES,
    CLAUDE_MEMORIES,
    MCP_MEMORY,
    MEM0,
    ZEP,
)
from hippocampe.ingest.formats.record import Authors, ExternalIds, Problem, Record, TalkMessage
from hippocampe.ingest.formats.signal import SIGNAL
from hippocampe.ingest.formats.source import (
    DAMAGED,
    Room,
    Source,
    open_archive,
    open_sources,
    room_in,
)
from hippocampe.ingest.formats.table import CSV
from hippocampe.ingest.formats.telegram import TELEGRAM
from hippocampe.ingest.formats.whatsapp import WHATSAPP
from hippocampe.language.datetimes import as_zone
from hippocampe.notes.filters import EXPORT_ROWS, is_export
from hippocampe.store.driver import grouped

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        CSV,
        SIGNAL,
        WHATSAPP,
        JSONL,
        CHATGPT,
        CLAUDE,
        TELEGRAM,
        DISCORD,
        LETTA,
        CLAUDE_MEMORIES,
        MEM0,
        ZEP,
        MCP_MEMORY,
        CHATGPT_MEMORIES,
        MARKDOWN,
    )
}
"""The formats by name, in the order in which they are tried."""


_EXPORT = re.compile(
    "|".join(
        f"(?:{each.files})" for each in FORMATS.values() if each.files and each is not MARKDOWN
    )
)
"""The names that programs give to the files of their exports."""
_NOTE = re.compile(str(MARKDOWN.files))
_TABLE = re.compile(r".*\.[ct]sv")
_READABLE = re.compile(r".*\.(?:md|txt|json|jsonl|af|csv|tsv|zip)")
"""The names of the files that may have talk or memories."""
_MAX_DEPTH = 2
"""Archives within each other, below a folder or an archive: some programs pack the export that they give into another."""
_COMMON = frozenset((CHATGPT_MEMORIES.name, MARKDOWN.name))
"""Formats whose marks are in files of other programs too."""
_LISTED = 5
"""Files that a problem lists by name."""

MAX_UNREAD = 10_000
"""Consecutive unreadable lines or records after which the file does not have the format."""
_HEAD_BYTES = 1 << 18
_DATABASE = "SQLite format 3\0"
_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
"""A web page, which Telegram and DiscordChatExporter write unless told otherwise."""


def read_file(
    path: str | os.PathLike[str], *, format: str | None = None, timezone: str = "Europe/Paris"
) -> Iterator[Record | Problem]:
    """Read a file as `open_file` does, without its formats."""
    return open_file(path, format=format, timezone=timezone)[1]


def open_file(
    path: str | os.PathLike[str], *, format: str | None = None, timezone: str = "Europe/Paris"
) -> tuple[tuple[str, ...], Iterator[Record | Problem]]:
    """Read the messages and statements of a file, in its order; of a folder or a zip, each file in its own format.

    Args:
        path: A file, a zip of an export, or a folder.
        format: One of `FORMATS`; None detects it. Of several files, those in no known format have it.
        timezone: IANA name of the zone of times without an offset.

    Returns:
        The formats of its files; and records, and a problem for each line, record or file that could not be read. A
        JSON document is validated before its first record, so that a damaged one yields none.

    Raises:
        InvalidInput: The format or the time zone is unknown.
        UnreadableFile: The file is missing, damaged, or not in that format. Also while iterating.
    """
    where = Path(path)
    if format is not None and format not in FORMATS:
        raise InvalidInput(
            f"format {shown(format)} is unknown: choose one of {', '.join(FORMATS)}."
        )
    zone = as_zone(timezone)
    files, problems = _contents(where, format)
    external_ids = {name: ExternalIds(name) for _, name in files}
    return tuple(external_ids), chain(problems, _read(where, files, external_ids, zone))


_Contents = tuple[list[tuple[Source, str]], list[Problem]]
"""The files of an import with their formats, and the problems of those that are left out."""


def _contents(path: Path, format: str | None) -> _Contents:
    try:
        sources = open_sources(path, _is_readable)
        if len(sources) == 1 and sources[0].member is None:
            return [(sources[0], format or _detect(sources[0]))], []
        archives = _Archives(None if path.is_dir() else room_in(path))
        files, problems = _chosen(archives.opened(sources), format, archives)
        pages = [] if files else open_sources(path, lambda name: name.endswith(".html"))
    except HippocampeError:
        raise
    except (*DAMAGED, ValueError) as exc:
        raise _unreadable(path, exc) from exc
    if not files:
        for page in pages:
            _detect(page)
        programs = _programs()
        raise UnreadableFile(
            f"cannot import {path}: it contains no export of {programs}. Convert talk of another program to JSON "
            "Lines: one message a line, with content, author and at."
        )
    return files, problems


def _is_readable(name: str) -> bool:
    return _READABLE.fullmatch(name) is not None


@dataclass(slots=True)
class _Archives:
    """Opens the archives that are in a folder or an archive, unless exports or notes are beside them.

    Attributes:
        room: What they may expand to together; None if each may have its own, in a folder.
        closed: Those that were left closed.
        errors: Those that could not be read, and why.
    """

    room: Room | None
    closed: list[Source] = field(default_factory=list[Source])
    errors: list[tuple[Source, Exception]] = field(default_factory=list[tuple[Source, Exception]])

    def opened(self, sources: list[Source], depth: int = _MAX_DEPTH) -> list[Source]:
        """The files among these, and in the archives among these."""
        sources = self._without_own(sources)
        files = [each for each in sources if not each.is_archive]
        archives = [each for each in sources if each.is_archive]
        if not depth or any(_is_named(each, _EXPORT, _NOTE) for each in files):
            self.closed += archives
            return files
        for archive in archives:
            room = self.room or Room()
            try:
                inner = open_archive(archive, _is_readable, room)
            except (UnreadableFile, *DAMAGED) as exc:
                self.errors.append((archive, exc))
            else:
                files += replace(self, room=room).opened(inner, depth - 1)
        return files

    def _without_own(self, sources: list[Source]) -> list[Source]:
        """The files without those of exports of Hippocampe, which are imported by themselves."""
        places = (str(each.member).rpartition("/") for each in sources)
        folders = grouped((folder, name) for folder, _, name in places)
        own = tuple(
            f"{folder}/" for folder, names in folders.items() if folder and is_export(names)
        )
        rows = {f"{folder}{EXPORT_ROWS}" for folder in own}
        self.closed += [each for each in sources if each.member in rows]
        return [each for each in sources if not str(each.member).startswith(own)]


def _chosen(sources: list[Source], format: str | None, archives: _Archives) -> _Contents:
    """Choose the files of a folder or a zip: those with names of exports, else notes, else those with the marks of a format.

    The others may be files that people sent to each other, or attached to a note: they are problems.
    """
    exports = [each for each in sources if _is_named(each, _EXPORT)]
    notes = [each for each in sources if _is_named(each, _NOTE)]
    others = [each for each in sources if not _is_named(each, _EXPORT, _NOTE)]
    marked = [found for found in _recognised(others, None, []) if found[1] not in _COMMON]
    errors = archives.errors
    files, left = _recognised(exports, format, errors), notes
    if not files:
        files, left = _recognised(notes, MARKDOWN.name, errors), []
        # signal-export writes a chat in two forms beside each other.
        chats = {_folder(each) for each, name in files if name == SIGNAL.name}
        marked = [
            each for each in marked if each[1] != SIGNAL.name or _folder(each[0]) not in chats
        ]
    if not files and not marked and errors:
        raise errors[0][1]
    problems = [_problem(source, exc) for source, exc in errors]
    if not files:
        return marked, problems
    left = [*(each for each, _ in marked), *left, *archives.closed]
    if left:
        problems.append(_left_out(left))
    return files, problems


def _recognised(
    sources: list[Source], default: str | None, errors: list[tuple[Source, Exception]]
) -> list[tuple[Source, str]]:
    """The files that have a format, each with it; the errors of the others are added to `errors`."""
    files: list[tuple[Source, str]] = []
    for source in sources:
        try:
            files.append((source, _detect(source, default)))
        except (InvalidInput, UnreadableFile, *DAMAGED) as exc:
            errors.append((source, exc))
    return files


def _left_out(sources: list[Source]) -> Problem:
    names = ", ".join(str(each.member)[:200] for each in sources[:_LISTED])
    names += f" (+ {len(sources) - _LISTED:,})" if len(sources) > _LISTED else ""
    return Problem(
        0,
        f"left out: {names}. Files beside an export or beside notes may have been sent or "
        "attached: import them separately.",
    )


def _problem(source: Source, exc: Exception) -> Problem:
    """The problem of one of several files."""
    error = exc if isinstance(exc, HippocampeError) else _unreadable(source.path, exc)
    member = str(source.member)[:200]
    return Problem(0, str(error).replace(source.name, member).replace(str(source.path), member))


def _folder(source: Source) -> str:
    return str(source.member).rpartition("/")[0]


def _is_named(source: Source, *names: re.Pattern[str]) -> bool:
    name = (source.member or source.path.name).rsplit("/", 1)[-1].lower()
    return any(each.fullmatch(name) for each in names)


def _unreadable(path: Path, exc: Exception) -> UnreadableFile:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    # The error may quote the names of members, which have up to 64 KiB.
    return UnreadableFile(f"cannot import {path}: {reason[:200] or 'the file is damaged'}.")


def _detect(source: Source, default: str | None = None) -> str:
    try:
        head = source.head(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except DAMAGED as exc:
        raise _unreadable(source.path, exc) from exc
    if not head.strip() and default is None:
        raise InvalidInput(f"cannot import {source.name}: it is empty.")
    if _is_named(source, _NOTE):
        # It may quote any other format.
        return SIGNAL.name if SIGNAL.recognises(head) else MARKDOWN.name
    if head.startswith(_DATABASE):
        raise InvalidInput(
            f"cannot import {source.name}: it is a database. To restore a backup, put it in an empty folder as "
            "hippocampe.db."
        )
    if _PAGE.match(head):
        raise InvalidInput(
            f"cannot import {source.name}: it is a web page. In the program, choose JSON as the format of the export."
        )
    for each in FORMATS.values():
        if each.recognises(head):
            return each.name
    if default is not None:
        return default
    if _is_named(source, _TABLE):
        # Reading it says what is missing.
        return CSV.name
    programs = _programs()
    raise InvalidInput(
        f"cannot tell the format of {source.name}: it looks like no export of {programs}. If it is one, "
        "choose its format. Statements, one a line, are stored by hippocampe remember --file."
    )


def _programs() -> str:
    return ", ".join(dict.fromkeys(each.title for each in FORMATS.values()))


def _read(
    path: Path,
    files: list[tuple[Source, str]],
    external_ids: Mapping[str, ExternalIds],
    zone: tzinfo,
) -> Iterator[Record | Problem]:
    authors = {format: Authors() for format in external_ids}
    for source, format in files:
        try:
            for record in _records(source, format, external_ids[format], authors[format], zone):
                if len(files) > 1 and isinstance(record, Problem):
                    yield replace(record, reason=f"{source.member}: {record.reason}")
                else:
                    yield record
        except (UnreadableFile, *DAMAGED) as exc:
            if len(files) > 1:
                yield _problem(source, exc)
            elif isinstance(exc, UnreadableFile):
                raise
            else:
                raise _unreadable(path, exc) from exc


def _records(
    source: Source, format: str, external_ids: ExternalIds, authors: Authors, zone: tzinfo
) -> Iterator[Record | Problem]:
    unread = 0
    for record in FORMATS[format].read(source, zone):
        unread = unread + 1 if isinstance(record, Problem) else 0
        if unread > MAX_UNREAD:
            raise UnreadableFile(
                f"cannot import {source.name}: {MAX_UNREAD:,} parts of it in a row are no record "
                f"of the format {format}. Those before them are stored."
            )
        if isinstance(record, TalkMessage):
            record = authors.told_apart(record)
        if isinstance(record, TalkMessage) and record.external_id is None:
            at = record.at.isoformat() if record.at else None
            parts = (record.channel, record.author, at, record.content)
            yield replace(record, external_id=external_ids.derive(*parts))
        else:
            yield record
