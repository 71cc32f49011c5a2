"""Render an injection: recollections as quoted data, in the language of the space.

Pure and deterministic. Quoted text cannot break this grammar:

    <hippocampe-memory>
    one line that declares the rest as data
    [header of a section]
    • one line for each item
    one line that ends the data
    </hippocampe-memory>

No line is empty, and only an item's line begins with a bullet, only a header with a bracket.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from hippocampe.embed import tokens
from hippocampe.language.datetimes import as_zone
from hippocampe.language.detect import Language
from hippocampe.language.fence import BULLET, CLOSING, OPENING, fence
from hippocampe.language.humanize import clock_label, day_label, relative_time
from hippocampe.language.i18n import translate
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.language.speakers import unnamed_speaker
from hippocampe.language.temporal.events import is_vague_event
from hippocampe.language.text import NO_TITLE
from hippocampe.types import Memory, Recollection, Settings

Count = Callable[[str], int]

ORDER = ("memory", "self", "goal", "fact", "turn", "live", "note")
"""The sections, in the order of the text."""

MAX_CHARACTERS = 6
"""Upper bound of characters per token; French and English average below 4. Text beyond that many
times the budget is not read."""

_NUMBERED = re.compile(r"(?=[0-9a-f]{0,11}\d)[0-9a-f]{12}", re.IGNORECASE)
"""Part of a channel that a program numbered, such as a UUID: it costs 25 tokens and tells a model nothing."""

# A full stop after an initial or a title, or before a lowercase letter, does not end a sentence.
_SENTENCE_END = re.compile(
    rf"""(?:[!?…]|(?:(?<=\w\w)|(?<=[)»”"]))\.{NO_TITLE})"""
    r"""[)»”"']*(?=\s+(?![a-zà-ÿ])\S)|(?= / )"""
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """An injection's text.

    Attributes:
        text: Empty if nothing is shown.
        tokens: Tokens of the text, each line end counted as one; never above the budget.
        shown: The quoted items, in the order of the text.
        no_room: The items not quoted, most useful first: they did not fit, or have no visible character.
    """

    text: str
    tokens: int
    shown: tuple[Recollection, ...]
    no_room: tuple[Recollection, ...]


@dataclass(frozen=True, slots=True)
class _Reader:
    """The language and the time of the reader of the text."""

    language: Language
    now: datetime
    timezone: str

    def say(self, text: str, **values: str) -> str:
        return translate(text, self.language).format(**values)

    def ago(self, at: datetime) -> str:
        # A clock that was set back, or that of another machine, may be behind: nothing was told in the future.
        at = min(at, self.now)
        return relative_time(at, now=self.now, timezone=self.timezone, language=self.language)

    def day(self, at: datetime) -> str:
        return day_label(at, now=self.now, timezone=self.timezone, language=self.language)


@dataclass(frozen=True, slots=True)
class _Line:
    item: Recollection
    text: str
    tokens: int


def render_for(
    settings: Settings, items: Sequence[Recollection], now: datetime, *, budget: int | None = None
) -> Rendered:
    """Quote items by the settings of a space; see `render`.

    Args:
        settings: Those of the space.
        items: Recollections, most useful first.
        now: The reference of relative times; aware.
        budget: Maximum tokens of the text; default: that of the settings.
    """
    return render(
        items,
        language=settings.language,
        now=now,
        timezone=settings.timezone,
        budget=settings.injection_token_budget if budget is None else budget,
        count=tokens.count,
    )


def render(
    items: Sequence[Recollection],
    *,
    language: Language,
    now: datetime,
    timezone: str,
    budget: int,
    count: Count,
) -> Rendered:
    """Quote items within a budget of tokens.

    Items are added in order; an item that does not fit is skipped, and later ones may still fit. No
    sentence is cut: an item too long to fit even alone is shortened to its first sentences, if one
    fits.

    Args:
        items: Recollections, most useful first.
        language: The language of the frame, the headers and the times.
        now: The reference of relative times; aware.
        timezone: The IANA zone in which days begin.
        budget: Maximum tokens of the text.
        count: Counts the tokens of a line.

    Raises:
        InvalidInput: The language or the timezone is unknown.
    """

    def cost(line: str) -> int:
        return count(line) + 1

    # Many items are of one section.
    cost_of_header = cache(cost)

    reader = _Reader(language, now, timezone)
    opening, closing = _frame(language)
    frame = sum(cost(line) for line in (*opening, *closing))
    room = budget - frame
    sections: dict[tuple[int, str], list[_Line]] = {}
    no_room: list[Recollection] = []
    for item in items:
        section = _section(item)
        header = _header(section, reader)
        header_cost = 0 if section in sections else cost_of_header(header)
        line = _fit(
            item,
            lambda content, item=item: _write(item, content, reader),
            room=room - header_cost,
            alone=budget - frame - cost_of_header(header),
            cost=cost,
        )
        if line is None:
            no_room.append(item)
            continue
        room -= header_cost + line.tokens
        sections.setdefault(section, []).append(line)
    if not sections:
        return Rendered("", 0, (), tuple(no_room))
    lines, shown = [*opening], list[Recollection]()
    for section in sorted(sections, key=lambda each: each[0]):
        lines.append(_header(section, reader))
        for line in _in_order(section, sections[section]):
            lines.append(line.text)
            shown.append(line.item)
    lines += closing
    return Rendered("\n".join(lines), budget - room, tuple(shown), tuple(no_room))


def render_notice(title: str, lines: Sequence[str], settings: Settings) -> tuple[str, int]:
    """A section of lines that quote no recollection, and its tokens.

    Args:
        title: The title of the section.
        lines: Sanitised lines, most important first; those that exceed the budget are left out.
        settings: Those of the space.
    """
    opening, closing = _frame(settings.language)
    frame = [*opening, f"[{title}]", *closing]
    room = settings.injection_token_budget - sum(tokens.count(line) + 1 for line in frame)
    shown: list[str] = []
    for line in lines:
        room -= tokens.count(BULLET + line) + 1
        if shown and room < 0:
            break
        shown.append(BULLET + line)
    text = "\n".join([*opening, f"[{title}]", *shown, *closing])
    return text, tokens.count(text)


@cache
def _frame(language: Language) -> tuple[tuple[str, str], tuple[str, str]]:
    first, last = fence(language)
    return (OPENING, first), (last, CLOSING)


def _section(item: Recollection) -> tuple[int, str]:
    """The section of an item, and the room of a live message."""
    kind = "memory" if item.kind == "summary" else item.kind
    if kind == "memory" and item.memory is not None and item.memory.key is not None:
        kind = "fact"
    room = quote_label(item.channel or "") if kind == "live" else ""
    return ORDER.index(kind), room


def _header(section: tuple[int, str], reader: _Reader) -> str:
    number, room = section
    match ORDER[number]:
        case "memory":
            header = reader.say("Memory: facts you know")
        case "self":
            header = reader.say("Self: what you know about yourself")
        case "goal":
            header = reader.say("Goals: what you are after")
        case "fact":
            header = reader.say("Facts: values kept under a name")
        case "turn":
            header = reader.say("Past exchanges: relevant extracts, not the present conversation")
        case "live" if room:
            header = reader.say(
                "Live context: relevant extracts from {room}, not a whole conversation",
                room=room[0].upper() + room[1:],
            )
        case "live":
            header = reader.say("Live context: relevant extracts, not a whole conversation")
        case _:
            header = reader.say("Notes: extracts from files")
    return f"[{header}]"


def _in_order(section: tuple[int, str], lines: list[_Line]) -> list[_Line]:
    """Most useful first; messages of a room in chronological order."""
    if ORDER[section[0]] != "live":
        return lines
    return sorted(lines, key=lambda line: (line.item.at is not None, line.item.at or 0))


def _write(item: Recollection, content: str, reader: _Reader) -> str:
    """The line of an item; `content` is already sanitised."""
    if item.memory is None:
        return _write_extract(item, content, reader)
    memory = item.memory
    when = reader.ago(memory.created_at)
    if memory.occurred_at is not None:
        when = _told_of(when, memory, memory.occurred_at, reader)
    elif memory.current and _is_confirmed(memory, reader):
        # Repeated, or changed by hand: it held then.
        when = reader.say("{when}, confirmed {then}", when=when, then=reader.ago(memory.updated_at))
    if memory.superseded_at is not None:
        then = reader.ago(memory.superseded_at)
        when = reader.say("{when}, replaced {then}", when=when, then=then)
    speaker = unnamed_speaker(memory.content, memory.user, memory.subjects, memory.collection)
    if speaker:
        content = reader.say("{who}: {said}", who=speaker, said=content)
    if memory.key is not None and item.kind in ("memory", "summary"):
        content = f"{quote_label(memory.key)} = {content}"
    return f"{BULLET}{content} ({when})"


def _write_extract(item: Recollection, content: str, reader: _Reader) -> str:
    """The line of an exchange, a live message or a note: who said it, where and when."""
    when = ""
    if item.kind == "live" and item.at is not None:
        when = clock_label(item.at, reader.timezone, reader.language, now=reader.now)
    elif item.at is not None:
        when = reader.ago(item.at)
    numbered = item.kind == "turn" and _NUMBERED.search(item.channel or "")
    names = (item.author, None if item.kind == "live" or numbered else item.channel)
    head = ", ".join(filter(None, (quote_label(name) for name in names if name)))
    if head:
        who = f"{head} ({when})" if when else head
        return BULLET + reader.say("{who}: {said}", who=who, said=content)
    return f"{BULLET}{content} ({when})" if when else BULLET + content


def _is_confirmed(memory: Memory, reader: _Reader) -> bool:
    """Return whether a memory was stated again on a later day than the first; a replay knows nothing of later times."""
    zone = as_zone(reader.timezone)
    first, last = (at.astimezone(zone).date() for at in (memory.created_at, memory.updated_at))
    return last > first and memory.updated_at <= reader.now


def _told_of(told: str, memory: Memory, at: datetime, reader: _Reader) -> str:
    """The time of telling, and the day of an event on another day: "tomorrow" in the text is none of the reader.

    The hour of an event is seldom known, and of "last week" not even the day.
    """
    day = reader.day(at)
    if day == reader.day(memory.created_at):
        return told
    if is_vague_event(memory.content, at, now=memory.created_at, timezone=reader.timezone):
        return reader.say("told {when}", when=told)
    return reader.say("told {when}; date: {day}", when=told, day=day)


def _fit(
    item: Recollection,
    write: Callable[[str], str],
    *,
    room: int,
    alone: int,
    cost: Callable[[str], int],
) -> _Line | None:
    """The line of an item within `room` tokens; shortened only if it exceeds `alone` tokens."""
    longest = max(0, alone) * MAX_CHARACTERS
    content = quote(item.content[:longest])
    if not content or room <= 0:
        return None
    if len(item.content) <= longest:
        line = write(content)
        if (tokens := cost(line)) <= room:
            return _Line(item, line, tokens)
        if tokens <= alone:
            return None
    for short in _shorter(content, room, cost):
        line = write(short)
        if (tokens := cost(line)) <= room:
            return _Line(item, line, tokens)
    return None


def _shorter(content: str, room: int, cost: Callable[[str], int]) -> Iterator[str]:
    """Prefixes of a text that end with a sentence and may fit, longest first."""
    ends, start, taken = list[int](), 0, 0
    for found in _SENTENCE_END.finditer(content):
        taken += cost(content[start : found.end()]) - 1
        if taken > room:
            break
        ends.append(start := found.end())
    for end in reversed(ends):
        yield content[:end] + " …"
