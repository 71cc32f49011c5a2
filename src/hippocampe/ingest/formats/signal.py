"""Read a chat of Signal: `chat.md` or `data.json`, which signal-export writes into a folder named like the chat."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import PurePath

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.format import Format
from hippocampe.ingest.formats.jsonl import read_objects
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
    storable_text,
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
_OBJECT = re.compile(r'\s*\{"date": ?"[^"]+", ?"sender": ?"(?:[^"\\]|\\.)*", ?"body": ?"')
"""The beginning of `data.json`, which has one message a line."""
_HEAD_BYTES = 1_024
_UNSPOKEN = ("deleted", "call")
"""Marks of messages that have no words."""
_AT = "%Y-%m-%d %H:%M:%S"


def read_signal(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the messages of people, without quotes, attachments, reactions, calls and deleted messages."""
    chat = _Chat(_channel(source), ExternalIds("signal"), zone)
    if _OBJECT.match(source.head(_HEAD_BYTES).decode("utf-8-sig", errors="replace")):
        return read_objects(source, chat.of_object)
    blocks = ((lines[0].number, lines) for lines in _blocks(source))
    return parsed(blocks, chat.of_lines)


def _blocks(source: Source) -> Iterator[list[Line]]:
    lines: list[Line] = []
    for line in read_lines(source):
        if lines and _HEADER.match(line.text):
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


@dataclass(frozen=True, slots=True)
class _Chat:
    """A chat, whose messages have the same ids in both of its files."""

    channel: str
    external_ids: ExternalIds
    zone: tzinfo

    def of_lines(self, lines: list[Line]) -> Iterator[TalkMessage]:
        """The message of some lines of `chat.md`."""
        if problem := next((line.problem for line in lines if line.problem), None):
            raise InvalidInput(problem)
        header = _HEADER.match(lines[0].text)
        if header is None:
            raise InvalidInput("the line belongs to no message")
        texts = [lines[0].text[header.end() :], *(line.text for line in lines[1:])]
        said = "\n".join(map(str.rstrip, texts))
        quote = _QUOTE.match(said)
        said = said[quote.end() :] if quote else said
        return self._message(header[2], header[1], said)

    def of_object(self, raw: dict[str, object]) -> Iterator[TalkMessage]:
        """The message of an object of `data.json`."""
        body = raw.get("body")
        if any(raw.get(mark) for mark in _UNSPOKEN) or not isinstance(body, str):
            return iter(())
        date = parse_time(raw.get("date")).strftime(_AT)
        said = "\n".join(map(str.rstrip, storable_text(body).split("\n")))
        return self._message(raw.get("sender"), date, said)

    def _message(self, sender: object, date: str, said: str) -> Iterator[TalkMessage]:
        content = _ADDED.sub("", said).strip()
        if not content or _NOTICE.fullmatch(content):
            return
        author = parse_label(sender, "author")
        own = author == _OWNER
        yield TalkMessage(
            content=parse_content(content),
            author="user" if own else UNKNOWN if author == _NOBODY else author,
            role="user" if own else None,
            channel=self.channel,
            at=to_utc(parse_time(date), self.zone),
            external_id=self.external_ids.derive(self.channel, author, date, content),
            titled=True,
        )


def _channel(source: Source) -> str:
    path = PurePath(source.member or source.path)
    return label_or(
        path.parent.name if path.stem.lower() in ("chat", "data") else path.stem, "Signal"
    )


SIGNAL = Format(
    "signal",
    "Signal",
    read_signal,
    recognises=lambda head: any(each.match(head) for each in (_HEADER, _OBJECT)),
)
