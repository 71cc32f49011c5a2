"""Detect the format of an exported conversation or memory and read it.

To add a format, declare a `Format` in a module of its own, and add it to `FORMATS`.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from hippocampe.errors import InvalidInput, UnreadableFile, shown
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
from hippocampe.ingest.formats.record import ExternalIds, Problem, Record, TalkMessage
from hippocampe.ingest.formats.source import DAMAGED, Source, open_sources, refuse_utf16
from hippocampe.ingest.formats.telegram import TELEGRAM
from hippocampe.ingest.formats.whatsapp import WHATSAPP
from hippocampe.language.datetimes import as_zone

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
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


def _archived(*formats: Format) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each.files})" for each in formats if each.files))


# Only an archive with nothing else is one of notes: people send Markdown files to each other too.
_ARCHIVED = (
    _archived(*(each for each in FORMATS.values() if each is not MARKDOWN)),
    _archived(MARKDOWN),
)

MAX_UNREAD = 10_000
"""Consecutive unreadable lines or records after which the file does not have the format."""
_HEAD_BYTES = 1 << 18


def detect_format(path: str | os.PathLike[str]) -> str:
    """Detect the format of a file from its content.

    Args:
        path: A file, a zip of an export, or a folder of notes.

    Returns:
        One of `FORMATS`.

    Raises:
        UnreadableFile: The file is missing, damaged, or cannot be read.
        InvalidInput: The file is empty or in no known format.
    """
    return _detect(_sources(Path(path))[0])


def read_file(
    path: str | os.PathLike[str], *, format: str | None = None, timezone: str = "Europe/Paris"
) -> Iterator[Record | Problem]:
    """Read the messages and statements of a file, in its order.

    Args:
        path: A file, a zip of an export, or a folder of notes.
        format: One of `FORMATS`; None detects it.
        timezone: IANA name of the zone of times without an offset.

    Returns:
        Records, and a problem for each line or record that could not be read. A JSON document is
        validated before its first record, so that a damaged one yields none.

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
    sources = _sources(where)
    if len(sources) == 1:
        return _read(where, [(sources[0], format or _detect(sources[0]))], zone)
    # An archive of an assistant has conversations and memories, each in their own format.
    return _read(where, [(each, _detect(each, format)) for each in sources], zone)


def _sources(path: Path) -> list[Source]:
    try:
        for pattern in _ARCHIVED:
            if sources := open_sources(path, _matching(pattern)):
                for source in sources:
                    refuse_utf16(source)
                return sources
    except (*DAMAGED, ValueError) as exc:
        raise _unreadable(path, exc) from exc
    raise UnreadableFile(
        f"cannot import {path}: it contains no export of a conversation or a memory."
    )


def _matching(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda name: pattern.fullmatch(name) is not None


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
    for each in FORMATS.values():
        if each.recognises(head):
            return each.name
    if default is not None:
        return default
    raise InvalidInput(
        f"cannot tell the format of {source.name}: name it, one of {', '.join(FORMATS)}."
    )


def _read(
    path: Path, sources: list[tuple[Source, str]], zone: tzinfo
) -> Iterator[Record | Problem]:
    external_ids = {format: ExternalIds(format) for _, format in sources}
    unread = 0
    try:
        for source, format in sources:
            for record in FORMATS[format].read(source, zone):
                unread = unread + 1 if isinstance(record, Problem) else 0
                if unread > MAX_UNREAD:
                    raise UnreadableFile(
                        f"cannot import {source.name}: {MAX_UNREAD:,} parts of it in a row are no record "
                        f"of the format {format}. Those before them are stored."
                    )
                if isinstance(record, Problem):
                    reason = (
                        f"{source.member}: {record.reason}" if len(sources) > 1 else record.reason
                    )
                    yield replace(record, reason=reason)
                elif isinstance(record, TalkMessage) and record.external_id is None:
                    at = record.at.isoformat() if record.at else None
                    parts = (record.channel, record.author, at, record.content)
                    yield replace(record, external_id=external_ids[format].derive(*parts))
                else:
                    yield record
    except DAMAGED as exc:
        raise _unreadable(path, exc) from exc
