"""Read a chat of Signal: `chat.md`, which signal-export writes into a folder named like the chat."""

import re
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import PurePath

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.format import Format
from hippocampe.ingest.formats.record import (
    UNKNOWN,
    ExternalIds,
    Problem,
    Record,
    TalkMessage,
    label_or,
    parse_content,
    parse_label,
    parse_time,
    parsed,
    to_utc,
)
from hippocampe.ingest.formats.source import Line, Source, read_lines

_HEADER = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] (.{1,200}?):(?:\s+|$)")
_QUOTE = re.compile(r"\s*^>.*(?:\n>.*)*", re.M)
"""The message that a message answers, in front of it."""
_ADDED = re.compile(
    r"!?\[[^\]\n]*\]\(\.\.?/(?:media|exported_stickers)/[^)\n]*\)|^\(\( .* \)\)|^\(- .* -\)",
    re.M,
)
"""Attachments, stickers and reactions."""
_NOTICE = re.compile(
    r"\(This message was deleted\)|(?:Incoming|Outgoing|Missed)(?: \w+)? call(?: \(.*\))?"
)
_OWNER = "Me"
_NOBODY = "No-Sender"


def read_signal(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the messages of people, without quotes, attachments, reactions, calls and deleted messages."""
    channel, external_ids = _channel(source), ExternalIds("signal")
    yield from parsed(
        ((lines[0].number, lines) for lines in _blocks(source)),
        lambda lines: _message(lines, channel, zone, external_ids),
    )


def _blocks(source: Source) -> Iterator[list[Line]]:
    lines: list[Line] = []
    for line in read_lines(source):
        if lines and _HEADER.match(line.text):
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


def _message(
    lines: list[Line], channel: str, zone: tzinfo, external_ids: ExternalIds
) -> Iterator[TalkMessage]:
    if problem := next((line.problem for line in lines if line.problem), None):
        raise InvalidInput(problem)
    header = _HEADER.match(lines[0].text)
    if header is None:
        raise InvalidInput("the line belongs to no message")
    texts = [lines[0].text[header.end() :], *(line.text for line in lines[1:])]
    said = "\n".join(map(str.rstrip, texts))
    quote = _QUOTE.match(said)
    content = _ADDED.sub("", said[quote.end() :] if quote else said).strip()
    if not content or _NOTICE.fullmatch(content):
        return
    author = parse_label(header[2], "author")
    own = author == _OWNER
    at = to_utc(parse_time(header[1]), zone)
    yield TalkMessage(
        content=parse_content(content),
        author="user" if own else UNKNOWN if author == _NOBODY else author,
        role="user" if own else None,
        channel=channel,
        at=at,
        external_id=external_ids.derive(channel, author, header[1], content),
        titled=True,
    )


def _channel(source: Source) -> str:
    path = PurePath(source.member or source.path)
    return label_or(path.parent.name if path.stem.lower() == "chat" else path.stem, "Signal")


SIGNAL = Format(
    "signal",
    "Signal",
    read_signal,
    recognises=lambda head: _HEADER.match(head) is not None,
)
