"""The records that every importer yields, and the parsers of their fields."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeVar, cast

from hippocampe.errors import InvalidInput
from hippocampe.types import MAX_LABEL_CHARACTERS, MAX_MESSAGE_CHARACTERS

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MAX_REPEATS = 100_000
"""Recent messages among which repetitions are counted, to bound the memory. Identical messages with the same
time are never further apart."""


@dataclass(frozen=True, slots=True)
class TalkMessage:
    """One message of an imported conversation.

    Attributes:
        content: The text.
        author: The author.
        role: `user`, `assistant`, or None in a room of people.
        channel: The channel.
        at: The time, aware, in UTC; None if the file has none.
        space: The space, if the file names one.
        external_id: An id that is the same in a later export of the conversation.
        reply_to: The external id of the message that it answers.
    """

    content: str
    author: str
    role: str | None = None
    channel: str | None = None
    at: datetime | None = None
    space: str | None = None
    external_id: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A line, or a record of a JSON document, that could not be read.

    Attributes:
        line: Its number, from 1.
        reason: The reason; never quotes the conversation.
    """

    line: int
    reason: str


class ExternalIds:
    """Derives stable ids: a later, longer export of a chat gives its messages the same ids."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._repeats: OrderedDict[bytes, int] = OrderedDict()

    def derive(self, *parts: str | None) -> str:
        """Hash the parts of a message; identical messages are numbered in order."""
        whole = "\x00".join("\x01" if part is None else part for part in parts)
        key = hashlib.blake2b(whole.encode(), digest_size=16).digest()
        count = self._repeats.pop(key, 0)
        self._repeats[key] = count + 1
        if len(self._repeats) > _MAX_REPEATS:
            self._repeats.popitem(last=False)
        numbered = hashlib.blake2b(key + count.to_bytes(8, "big"), digest_size=16)
        return f"{self._source}:{numbered.hexdigest()}"


def as_object(value: object) -> dict[str, object]:
    """A JSON object; empty for any other value."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """A JSON array; empty for any other value."""
    return cast("list[object]", value) if isinstance(value, list) else []


def optional(parse: Callable[[object], T], value: object) -> T | None:
    """Parse a value unless it is None."""
    return None if value is None else parse(value)


def storable_text(text: str) -> str:
    """Remove NUL, and replace lone surrogates."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", "")


def parse_content(value: object) -> str:
    """Check and clean the text of a message.

    Raises:
        InvalidInput: The value is not text, is blank, or is too long.
    """
    if not isinstance(value, str):
        raise InvalidInput("content is missing or is not text")
    content = storable_text(value)
    if not content.strip():
        raise InvalidInput("content is empty")
    if len(content) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput(f"content has more than {MAX_MESSAGE_CHARACTERS:,} characters")
    return content


def parse_label(value: object, name: str) -> str:
    """Make a label from a name: one line, printable, truncated.

    Raises:
        InvalidInput: The value is not text, or has no printable character.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is missing or is not text")
    line = " ".join(storable_text(value).split())
    label = "".join(filter(str.isprintable, line))[:MAX_LABEL_CHARACTERS].strip()
    if not label:
        raise InvalidInput(f"{name} is empty")
    return label


def parse_identifier(value: object) -> str | None:
    """An external id as text; None stays None.

    Raises:
        InvalidInput: The value is neither text nor a whole number, is blank, or is too long.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput("an id is neither text nor a whole number")
    if isinstance(value, int) and value.bit_length() > 64:
        raise InvalidInput("an id is too large a number")
    identifier = storable_text(str(value)).strip()
    if not identifier or len(identifier) > MAX_LABEL_CHARACTERS:
        raise InvalidInput(f"an id is empty or has more than {MAX_LABEL_CHARACTERS} characters")
    return identifier


def parse_time(value: object) -> datetime:
    """Parse an ISO 8601 time, naive or aware as written.

    Raises:
        InvalidInput: The value is not such a time.
    """
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            pass
    raise InvalidInput("the time is not in ISO 8601 form, such as 2026-01-17T10:23:00+01:00")


def parse_timestamp(value: object) -> datetime:
    """Parse seconds since 1970, a number or its text.

    Raises:
        InvalidInput: The value is not a number, or is out of the range of dates.
    """
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return _EPOCH + timedelta(seconds=float(value))
        except (ValueError, OverflowError):
            pass
    raise InvalidInput("the time is not a number of seconds since 1970")


def to_utc(moment: datetime, zone: tzinfo) -> datetime:
    """Convert to UTC; a naive time is in `zone`.

    Raises:
        InvalidInput: The result is outside of the years 1 to 9999.
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    try:
        return aware.astimezone(UTC)
    except OverflowError as exc:
        raise InvalidInput("the time is out of the range of dates") from exc
