"""Read the text export of WhatsApp, from Android and iOS, in several languages.

The format has no specification: dates follow the settings of the phone, and notices of WhatsApp are
mixed with messages. The supported shapes were collected from published exports.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.formats.format import Format, any_line
from hippocampe.ingest.formats.notices import (
    is_edited,
    is_notice,
    message_text,
    starts_notice,
    without_marks,
)
from hippocampe.ingest.formats.record import (
    ExternalIds,
    Problem,
    Record,
    TalkMessage,
    label_or,
    parse_content,
    parse_label,
    parsed,
    to_utc,
)
from hippocampe.ingest.formats.source import Line, Source, read_lines
from hippocampe.language.lexicon import load_all
from hippocampe.types import MAX_MESSAGE_CHARACTERS

_MARKS_AT_START = "\u200e\u200f\u202a\u202b\u202c\ufeff"
_PLAIN_SPACES = str.maketrans("\u202f\u00a0\u2009", "   ")

_DATE = r"(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?"
_TIME = (
    r"(\d{1,2})(?: ?h ?|[:.])(\d{2})(?:(?:[:.]| ?min ?)(\d{2})(?: ?s)?)?(?: ?([AaPp]\.? ?[Mm])\.?)?"
)
_STAMP = rf"{_DATE}(?:, ?| )(?:[^\W\d_]{{1,5}} )?{_TIME}"
_HEADERS = (re.compile(rf"\[{_STAMP}\] ?"), re.compile(rf"{_STAMP} [-\u2013](?: |$)"))
_AUTHOR = re.compile(r"(.{1,200}?)\s?:(?:\s|$)")

_MAX_HEADER_CHARACTERS = 60
"""Spaces are normalised within the header only, never in what people wrote."""

_CHAT_FILE = re.compile(
    rf"^(?:{'|'.join(load_all('notices')['chat_files'])})"
    rf"(?: (?:{'|'.join(load_all('notices')['chat_with'])}) | - | )",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.(?:txt|zip)$", re.IGNORECASE)
_COPY = re.compile(r" ?\(\d{1,2}\)$")


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of one message, the first without its header; or a line with a problem, without a stamp."""

    number: int
    stamp: re.Match[str] | None
    lines: list[str]
    problem: str | None


def read_whatsapp(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the messages of people, without notices, bare files and deleted messages.

    Raises:
        UnreadableFile: No line starts like a message of WhatsApp.
    """
    layout = _detect_layout(source)
    if layout is None:
        return
    header, month_first = layout
    channel = _channel(source)
    external_ids = ExternalIds("whatsapp")
    blocks = ((block.number, block) for block in _blocks(source, header))
    yield from parsed(
        blocks, lambda block: _message(block, month_first, channel, zone, external_ids)
    )


def starts_message(text: str) -> bool:
    """Return whether a line starts like a message of WhatsApp."""
    return any(_match(header, text) for header in _HEADERS)


def _match(header: re.Pattern[str], text: str) -> re.Match[str] | None:
    start = text[:_MAX_HEADER_CHARACTERS].lstrip(_MARKS_AT_START)
    if not start or start[0] not in "[0123456789":
        return None
    return header.match(start.translate(_PLAIN_SPACES))


def _detect_layout(source: Source) -> tuple[re.Pattern[str], bool] | None:
    """Scan the whole file for its header and the order of month and day.

    In order of evidence: a number above 12 is a day; messages go forward in time; days change more
    often than months; capital AM and PM with a two-digit year are American.

    Returns:
        The header and the order; None for an empty file.
    """
    header = None
    days = forward = changes = 0
    american = something = False
    before = (0, 0, 0)
    for line in read_lines(source):
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


def _blocks(source: Source, header: re.Pattern[str]) -> Iterator[_Block]:
    block: _Block | None = None
    size = 0
    for line in read_lines(source):
        stamp = _match(header, line.text)
        if stamp:
            if block:
                yield block
            block = _Block(line.number, stamp, [_after(stamp, line)], line.problem)
            size = len(line.text)
        elif line.problem:
            yield _Block(line.number, None, [], line.problem)
        elif block is None:
            if line.text.strip():
                yield _Block(line.number, None, [], "the line belongs to no message")
        elif size <= MAX_MESSAGE_CHARACTERS:  # Longer messages are refused, so stop buffering.
            block.lines.append(line.text)
            size += len(line.text) + 1
    if block:
        yield block


def _after(stamp: re.Match[str], line: Line) -> str:
    marks = len(line.text) - len(line.text.lstrip(_MARKS_AT_START))
    return line.text[marks + stamp.end() :]


def _message(
    block: _Block, month_first: bool, channel: str, zone: tzinfo, external_ids: ExternalIds
) -> Iterator[TalkMessage]:
    if block.problem or block.stamp is None:
        raise InvalidInput(block.problem or "")
    named = _AUTHOR.match(block.lines[0])
    if named is None or starts_notice(named[1]):
        return
    body = [block.lines[0][named.end() :], *block.lines[1:]]
    content = "" if is_notice(body[0]) else message_text(body)
    if not content:
        return
    content = parse_content(content)
    author = parse_label(without_marks(named[1]).lstrip("~ \u202f\u00a0"), "author")
    written = _moment(block.stamp, month_first)
    yield TalkMessage(
        content=content,
        author=author,
        channel=channel,
        at=to_utc(written, zone),
        external_id=external_ids.derive(channel, author, written.isoformat(), content),
        titled=True,
        edited=is_edited(body),
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
    """Name the chat after its file, or after the folder or archive for `_chat.txt` of iOS."""
    names = [*(source.member or "").split("/")[:-3:-1], source.path.name]
    stems = [_EXTENSION.sub("", unicodedata.normalize("NFC", name)) for name in names]
    folder = source.path.parent.name
    if _CHAT_FILE.match(folder):
        stems.append(folder)
    stem = next((stem for stem in stems if stem not in ("", "_chat")), "")
    return label_or(_COPY.sub("", _CHAT_FILE.sub("", stem)), "WhatsApp")


WHATSAPP = Format(
    "whatsapp",
    "WhatsApp",
    read_whatsapp,
    recognises=any_line(starts_message),
    files=r"_chat\.txt|.*whatsapp.*\.txt",
)
