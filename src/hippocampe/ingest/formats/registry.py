"""Readers of real talk: exports of chat applications and assistants, and plain JSON Lines.

Every reader streams, keeps the original times, names each message the same way on every reading,
and yields a `Problem` in place of what it could not read. Numbers of problems start at 1.
"""

import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.formats.conversations import read_chatgpt, read_claude
from hippocampe.ingest.formats.jsonl import parse_object, read_jsonl
from hippocampe.ingest.formats.record import Identities, Problem, TalkMessage
from hippocampe.ingest.formats.source import Source, open_sources, refuse_utf16
from hippocampe.ingest.formats.telegram import read_telegram
from hippocampe.ingest.formats.whatsapp import read_whatsapp, starts_message
from hippocampe.language.datetimes import as_zone

__all__ = ["FORMATS", "Problem", "TalkMessage", "detect_format", "read_talk"]

_Reader = Callable[[Source, tzinfo], Iterator[TalkMessage | Problem]]
_READERS: dict[str, _Reader] = {
    "jsonl": read_jsonl,
    "whatsapp": read_whatsapp,
    "chatgpt": read_chatgpt,
    "claude": read_claude,
    "telegram": read_telegram,
}
FORMATS = tuple(_READERS)

_ARCHIVED = re.compile(r"(?:conversations(?:-\d+)?|result)\.json|_chat\.txt|.*whatsapp.*\.txt")

# Keys that only one export has, where they start: not escaped, so not inside what people said.
_KEYS = (
    ("chatgpt", re.compile(r'(?<!\\)"mapping"\s*:\s*\{')),
    ("claude", re.compile(r'(?<!\\)"chat_messages"\s*:\s*\[')),
    (
        "telegram",
        re.compile(
            r'(?<!\\)"(?:date_unixtime|from_id|personal_information)"\s*:'
            r'|(?<!\\)"type"\s*:\s*"(?:personal_chat|bot_chat|saved_messages'
            r'|(?:private|public)_(?:group|supergroup|channel))"'
        ),
    ),
)
_HEAD_BYTES = 1 << 18
_HEAD_LINES = 100

_DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)


def detect_format(path: str | os.PathLike[str]) -> str:
    """Tell the format of a file from its content.

    Args:
        path: A file, or a zip of an export.

    Returns:
        One of `FORMATS`.

    Raises:
        UnreadableFile: The file is missing, is damaged, or cannot be read.
        InvalidInput: It is empty or no format that can be imported.
    """
    return _detect(_sources(Path(path))[0])


def read_talk(
    path: str | os.PathLike[str], *, format: str | None = None, timezone: str = "Europe/Paris"
) -> Iterator[TalkMessage | Problem]:
    """Read the talk of a file, in its order.

    Args:
        path: A file, or a zip of an export.
        format: One of `FORMATS`; told from the content when left out.
        timezone: IANA name of the zone of times written without one.

    Returns:
        Messages, and a problem for each line or record that could not be read. A JSON document is
        read through once before its first message, so that a damaged one gives none.

    Raises:
        InvalidInput: The format or the time zone is unknown.
        UnreadableFile: The file is missing, damaged, or not of that format. While iterating too.
    """
    where = Path(path)
    if format is not None and format not in _READERS:
        raise InvalidInput(f"format {format!r} is unknown: choose one of {', '.join(FORMATS)}.")
    zone = as_zone(timezone)
    sources = _sources(where)
    return _read(where, sources, format or _detect(sources[0]), zone)


def _sources(path: Path) -> list[Source]:
    try:
        sources = open_sources(path, lambda name: _ARCHIVED.fullmatch(name) is not None)
        for source in sources:
            refuse_utf16(source)
    except (*_DAMAGED, ValueError) as exc:
        raise _unreadable(path, exc) from exc
    return sources


def _unreadable(path: Path, exc: Exception) -> UnreadableFile:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return UnreadableFile(f"cannot import {path}: {reason or 'the file is damaged'}.")


def _detect(source: Source) -> str:
    try:
        head = source.head(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except _DAMAGED as exc:
        raise _unreadable(source.path, exc) from exc
    if not head.strip():
        raise InvalidInput(f"cannot import {source.name}: it is empty.")
    lines = head.split("\n", _HEAD_LINES)[:_HEAD_LINES]
    if any(map(starts_message, lines)):
        return "whatsapp"
    if any(map(_is_message, lines)):
        return "jsonl"
    for name, key in _KEYS:
        if key.search(head):
            return name
    raise InvalidInput(
        f"cannot tell the format of {source.name}: name it, one of {', '.join(FORMATS)}."
    )


def _is_message(line: str) -> bool:
    try:
        return "content" in parse_object(line)
    except InvalidInput:
        return False


def _read(
    path: Path, sources: list[Source], format: str, zone: tzinfo
) -> Iterator[TalkMessage | Problem]:
    identities = Identities(format)
    try:
        for source in sources:
            for one in _READERS[format](source, zone):
                if isinstance(one, Problem):
                    reason = f"{source.member}: {one.reason}" if len(sources) > 1 else one.reason
                    yield replace(one, reason=reason)
                elif one.external_id is None:
                    at = one.at.isoformat() if one.at else None
                    yield replace(
                        one, external_id=identities.of(one.channel, one.author, at, one.content)
                    )
                else:
                    yield one
    except _DAMAGED as exc:
        raise _unreadable(path, exc) from exc
