"""The text export of WhatsApp, from Android and iOS, as phones of several languages write it.

The export has no specification: dates follow the settings of the phone, and what WhatsApp itself
says stands among what people say. The shapes read here were gathered from published exports.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.formats.notices import is_notice, quotes_a_name, spoken, without_marks
from hippocampe.ingest.formats.record import (
    Identities,
    Problem,
    TalkMessage,
    content_of,
    in_utc,
    label_of,
)
from hippocampe.ingest.formats.source import Line, Source, lines
from hippocampe.language.lexicon import load_all
from hippocampe.types import MAX_MESSAGE_CHARACTERS

_MARKS_AT_START = "\u200e\u200f\u202a\u202b\u202c\ufeff"
_PLAIN_SPACES = str.maketrans("\u202f\u00a0\u2009", "   ")

_DATE = r"(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?"
_TIME = r"(\d{1,2})(?: ?h ?|[:.])(\d{2})(?:[:.](\d{2}))?(?: ?([AaPp]\.? ?[Mm])\.?)?"
_STAMP = rf"{_DATE}(?:, ?| )(?:[^\W\d_]{{1,5}} )?{_TIME}"
_HEADERS = (re.compile(rf"\[{_STAMP}\] ?"), re.compile(rf"{_STAMP} [-\u2013](?: |$)"))
_AUTHOR = re.compile(r"(.{1,200}?)\s?:(?:\s|$)")

# No header is longer; spaces are made plain in it only, what people wrote is not altered.
_HEADER_CHARACTERS = 60

_CHAT_FILE = re.compile(
    rf"^(?:{'|'.join(load_all('notices')['chat_files'])})"
    rf"(?: (?:{'|'.join(load_all('notices')['chat_with'])}) | - | )",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.(?:txt|zip)$", re.IGNORECASE)
_COPY = re.compile(r" ?\(\d{1,2}\)$")


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of one message, the first without its header."""

    number: int
    stamp: re.Match[str]
    lines: list[str]
    problem: str | None


def read_whatsapp(source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    """Read the messages of people; notices, files without a caption and deleted messages are not.

    Raises:
        UnreadableFile: No line starts as a message of WhatsApp does.
    """
    learnt = _learn(source)
    if learnt is None:
        return
    header, month_first = learnt
    channel = _channel(source)
    identities = Identities("whatsapp")
    for block in _blocks(source, header):
        if isinstance(block, Problem):
            yield block
            continue
        try:
            message = _message(block, month_first, channel, zone, identities)
        except InvalidInput as exc:
            yield Problem(block.number, str(exc))
        else:
            if message:
                yield message


def starts_message(text: str) -> bool:
    """Whether a line starts as a message of WhatsApp does."""
    return any(_match(header, text) for header in _HEADERS)


def _match(header: re.Pattern[str], text: str) -> re.Match[str] | None:
    start = text[:_HEADER_CHARACTERS].lstrip(_MARKS_AT_START)
    if not start or start[0] not in "[0123456789":
        return None
    return header.match(start.translate(_PLAIN_SPACES))


def _learn(source: Source) -> tuple[re.Pattern[str], bool] | None:
    """Learn from the whole file which header it uses, and whether the month comes first.

    A number above 12 is a day. Failing that, talk goes forward in time; then, days change more
    often than months; then, capital AM and PM with a short year are the American way.
    """
    header = None
    days = forward = changes = 0
    american = something = False
    before = (0, 0, 0)
    for line in lines(source):
        something = something or bool(line.text.strip())
        if header is None:
            header = next((one for one in _HEADERS if _match(one, line.text)), None)
        stamp = _match(header, line.text) if header else None
        if stamp is None:
            continue
        first, second, year = now = int(stamp[1]), int(stamp[3]), int(stamp[4])
        days += (first > 12) - (second > 12)
        if before[2]:
            forward += (now[2], *now[:2]) < (before[2], *before[:2])
            forward -= (year, second, first) < (before[2], before[1], before[0])
            changes += (first != before[0]) - (second != before[1])
        american = american or (stamp[8] in ("AM", "PM") and len(stamp[4]) == 2)
        before = now
    if header:
        return header, (days or forward or changes or -american) < 0
    if something:
        raise UnreadableFile(
            f"cannot import {source.name}: no line of it starts with a date and a time as in an "
            "export of WhatsApp."
        )
    return None


def _blocks(source: Source, header: re.Pattern[str]) -> Iterator[_Block | Problem]:
    block: _Block | None = None
    size = 0
    for line in lines(source):
        stamp = _match(header, line.text)
        if stamp:
            if block:
                yield block
            block = _Block(line.number, stamp, [_after(stamp, line)], line.problem)
            size = len(line.text)
        elif line.problem:
            yield Problem(line.number, line.problem)
        elif block is None:
            if line.text.strip():
                yield Problem(line.number, "the line belongs to no message")
        elif size <= MAX_MESSAGE_CHARACTERS:  # what is longer is refused, so not held
            block.lines.append(line.text)
            size += len(line.text) + 1
    if block:
        yield block


def _after(stamp: re.Match[str], line: Line) -> str:
    marks = len(line.text) - len(line.text.lstrip(_MARKS_AT_START))
    return line.text[marks + stamp.end() :]


def _message(
    block: _Block, month_first: bool, channel: str, zone: tzinfo, identities: Identities
) -> TalkMessage | None:
    if block.problem:
        raise InvalidInput(block.problem)
    named = _AUTHOR.match(block.lines[0])
    if named is None or quotes_a_name(named[1]):
        return None
    body = [block.lines[0][named.end() :], *block.lines[1:]]
    content = "" if is_notice(body[0]) else spoken(body)
    if not content:
        return None
    content = content_of(content)
    author = label_of(without_marks(named[1]).lstrip("~ \u202f\u00a0"), "author")
    written = _moment(block.stamp, month_first)
    return TalkMessage(
        content=content,
        author=author,
        channel=channel,
        at=in_utc(written, zone),
        external_id=identities.of(channel, author, written.isoformat(), content),
    )


def _moment(stamp: re.Match[str], month_first: bool) -> datetime:
    first, second, third = int(stamp[1]), int(stamp[3]), int(stamp[4])
    if len(stamp[1]) == 4:
        year, month, day = first, second, third
    else:
        day, month = (second, first) if month_first else (first, second)
        year = third + 2000 if third < 100 else third
    hour = int(stamp[5])
    half = (stamp[8] or "").lower()[:1]
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return datetime(year, month, day, hour, int(stamp[6]), int(stamp[7] or 0))
    except ValueError as exc:
        raise InvalidInput("the date or the time does not exist") from exc


def _channel(source: Source) -> str:
    """Name the chat after its file; iOS calls every text `_chat`, and names what holds it."""
    names = [(source.member or "").rsplit("/", 1)[-1], source.path.name]
    stems = [_EXTENSION.sub("", unicodedata.normalize("NFC", name)) for name in names]
    folder = source.path.parent.name
    if _CHAT_FILE.match(folder):
        stems.append(folder)
    stem = next((stem for stem in stems if stem not in ("", "_chat")), "")
    try:
        return label_of(_COPY.sub("", _CHAT_FILE.sub("", stem)), "channel")
    except InvalidInput:
        return "WhatsApp"
