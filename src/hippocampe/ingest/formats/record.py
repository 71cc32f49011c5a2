"""What every reader of talk yields, and how raw values become it."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

from hippocampe.errors import InvalidInput
from hippocampe.types import MAX_LABEL_CHARACTERS, MAX_MESSAGE_CHARACTERS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Repeats are numbered among the messages most recently read only, so that memory stays flat on a
# file of any size. Two identical messages this far apart with the same time do not occur in talk.
_REMEMBERED_REPEATS = 100_000


@dataclass(frozen=True, slots=True)
class TalkMessage:
    """One message of imported talk.

    `role` is `user`, `assistant` or None (a room of people); `at` is aware and in UTC, None when
    the file says nothing; `external_id` stays the same when the same talk is exported again.
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
    """What could not be read: the line (or, in a JSON document, the record), from 1, and why.

    The reason never repeats what people said.
    """

    line: int
    reason: str


class Identities:
    """Derives ids that stay the same from one export of a chat to the next, longer one."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._repeats: OrderedDict[bytes, int] = OrderedDict()

    def of(self, *parts: str | None) -> str:
        """Name a message by what it is made of; identical ones are told apart by their order."""
        whole = "\x00".join("\x01" if part is None else part for part in parts)
        key = hashlib.blake2b(whole.encode(), digest_size=16).digest()
        count = self._repeats.pop(key, 0)
        self._repeats[key] = count + 1
        if len(self._repeats) > _REMEMBERED_REPEATS:
            self._repeats.popitem(last=False)
        numbered = hashlib.blake2b(key + count.to_bytes(8, "big"), digest_size=16)
        return f"{self._source}:{numbered.hexdigest()}"


def fields(value: object) -> dict[str, object]:
    """Return a JSON object as a mapping; anything else is an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a JSON array as a list; anything else is an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def clean(text: str) -> str:
    """Make text storable anywhere: no NUL, and no half of a surrogate pair."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\x00", "")


def content_of(value: object) -> str:
    """Check and clean what was said.

    Raises:
        InvalidInput: It is not text, is blank, or is too long.
    """
    if not isinstance(value, str):
        raise InvalidInput("content is missing or is not text")
    content = clean(value)
    if not content.strip():
        raise InvalidInput("content is empty")
    if len(content) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput(f"content has more than {MAX_MESSAGE_CHARACTERS:,} characters")
    return content


def label_of(value: object, name: str) -> str:
    """Turn a name from a file into a label: one line, printable, not too long.

    Raises:
        InvalidInput: It is not text, or nothing printable is left.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is missing or is not text")
    line = " ".join(clean(value).split())
    label = "".join(filter(str.isprintable, line))[:MAX_LABEL_CHARACTERS].strip()
    if not label:
        raise InvalidInput(f"{name} is empty")
    return label


def identifier_of(value: object) -> str | None:
    """Return an id of a file as text; None when there is none.

    Raises:
        InvalidInput: It is neither text nor a whole number, is blank, or is too long.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput("an id is neither text nor a whole number")
    if isinstance(value, int) and value.bit_length() > 64:
        raise InvalidInput("an id is too large a number")
    identifier = clean(str(value)).strip()
    if not identifier or len(identifier) > MAX_LABEL_CHARACTERS:
        raise InvalidInput(f"an id is empty or has more than {MAX_LABEL_CHARACTERS} characters")
    return identifier


def moment_of(value: object) -> datetime:
    """Read an ISO 8601 time as it is written, naive or aware.

    Raises:
        InvalidInput: It is not such a time.
    """
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            pass
    raise InvalidInput("the time is not in ISO 8601 form, such as 2026-01-17T10:23:00+01:00")


def moment_of_seconds(value: object) -> datetime:
    """Read seconds since 1970, a number or its text.

    Raises:
        InvalidInput: It is not a number, or is out of the range of dates.
    """
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return _EPOCH + timedelta(seconds=float(value))
        except (ValueError, OverflowError):
            pass
    raise InvalidInput("the time is not a number of seconds since 1970")


def in_utc(moment: datetime, zone: tzinfo) -> datetime:
    """Convert to UTC; a naive time is one of `zone`.

    Raises:
        InvalidInput: It falls outside of the years 1 to 9999.
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    try:
        return aware.astimezone(UTC)
    except OverflowError as exc:
        raise InvalidInput("the time is out of the range of dates") from exc
