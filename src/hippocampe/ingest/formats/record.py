"""The records that every importer yields, and the parsers of their fields."""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, TypeVar, cast

from hippocampe.errors import InvalidInput
from hippocampe.language.text import without_lone_surrogates
from hippocampe.system.recent import Recent
from hippocampe.types import (
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_METADATA_KEYS,
    Metadata,
    MetadataValue,
    normal_label,
    printable,
)

T = TypeVar("T")
R = TypeVar("R")
ROLES = ("user", "assistant")
"""Roles of imported messages."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DEPTH = 5
"""Objects within each other that are flattened."""

_MAX_REPEATS = 100_000
"""Recent messages among which repetitions are counted, to bound the memory. Identical messages with the same
time are never further apart."""


@dataclass(frozen=True, slots=True)
class TalkMessage:
    """One message of an imported conversation.

    Attributes:
        author: The displayed name, which several people of an import may have.
        account: The id of the author in the program, which tells such people apart; None if the file has none.
        account_name: What names the account in front of people, rather than the id.
        role: `user`, `assistant`, or None in a room of people.
        at: The time, aware, in UTC; None if the file has none.
        space: The space, if the file names one.
        external_id: An id that is the same in a later export of the conversation.
        reply_to: The external id of the message that it answers.
        unique: Whether no other message of the program has its external id, so that it is known in a renamed chat.
        titled: Whether its channel is only the title of a chat, which also is the name of its other person, if it has
            one. Both can change until a later export.
        edited: Whether its author changed the text.
        line: The number of its line or record, as in `Problem`.
    """

    content: str
    author: str
    role: str | None = None
    channel: str | None = None
    at: datetime | None = None
    space: str | None = None
    external_id: str | None = None
    reply_to: str | None = None
    unique: bool = False
    titled: bool = False
    edited: bool = False
    account: str | None = None
    account_name: str | None = None
    line: int = field(default=0, compare=False)

    def author_for(self, user: str | None) -> str:
        """The author; the user of the import, if there is one, whom an assistant's export calls `user`."""
        return user if user and self.role == self.author == "user" else self.author


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an imported memory, which the rules compare with the stored ones.

    Attributes:
        content: The statement, understandable by itself.
        external_id: An id that is the same in a later export, after the name of the format and a colon.
        user: Its user, if the file names one.
        subjects: Whom or what it is about.
        personal: Whether it is about its user, or else about the user who imports it.
        collection: The collection; None for `memory`.
        category: The category of the collection.
        at: When it was learnt, aware, in UTC; None if the file does not say.
        changed: When it was edited last; None if the file does not say.
        occurred_at: When it began to be true, or happened.
        ends: When it stops, or stopped, being true.
        metadata: Other fields of the record.
        line: The number of its line or record, as in `Problem`.
    """

    content: str
    external_id: str
    user: str | None = None
    subjects: tuple[str, ...] = ()
    personal: bool = False
    collection: str | None = None
    category: str | None = None
    at: datetime | None = None
    changed: datetime | None = None
    occurred_at: datetime | None = None
    ends: datetime | None = None
    metadata: Metadata = field(default_factory=dict[str, MetadataValue], hash=False)
    line: int = field(default=0, compare=False)

    @property
    def format(self) -> str:
        """The name of the format that it was read from."""
        return self.external_id.partition(":")[0]


Record = TalkMessage | Statement
"""An item of a file that can be stored."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A line, or a record of a JSON document, that could not be read.

    Attributes:
        line: Its number, from 1; 0 for a whole file.
        reason: The reason; never quotes the conversation.
    """

    line: int
    reason: str


def parsed(
    parts: Iterable[tuple[int, R]], parse: Callable[[R], Iterable[Record | Problem]]
) -> Iterator[Record | Problem]:
    """Parse the parts of a file.

    Args:
        parts: Lines or records of a document, each with its number.
        parse: Returns the records of one, and problems with parts of it; raises InvalidInput if it cannot be read, which becomes its problem.
    """
    for number, part in parts:
        try:
            for record in parse(part):
                yield replace(record, line=number)
        except InvalidInput as exc:
            yield Problem(number, str(exc))


class ExternalIds:
    """Derives stable ids: a later, longer export of a chat gives its messages the same ids."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._repeats = Recent[bytes, int](_MAX_REPEATS)

    def derive(self, *parts: str | None) -> str:
        """Hash the parts of a message; identical messages are numbered in order."""
        whole = "\x00".join("\x01" if part is None else part for part in parts)
        key = hashlib.blake2b(whole.encode(errors="surrogatepass"), digest_size=16).digest()
        count = self._repeats.get(key, 0)
        self._repeats[key] = count + 1
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
    return without_lone_surrogates(text).replace("\x00", "")


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


UNKNOWN: Final = "?"
"""The author of words that somebody passed on, if nothing names who said them."""


class Authors:
    """The names of the authors of an import: of several people of one name, all but the first have their account after it."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def told_apart(self, message: TalkMessage) -> TalkMessage:
        """The message, by an author with a name of their own."""
        name, account = message.author, message.account
        if account is None or self._ids.setdefault(normal_label(name), account) == account:
            return message
        author = parse_label(f"{name} ({message.account_name or account})", "author")
        return replace(message, author=author)


def parse_label(value: object, name: str) -> str:
    """Make a label from a name: one line, printable, truncated.

    Raises:
        InvalidInput: The value is not text, or has no printable character.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is missing or is not text")
    line = " ".join(storable_text(value).split())
    label = printable(line)[:MAX_LABEL_CHARACTERS].strip()
    if not label:
        raise InvalidInput(f"{name} is empty")
    return label


def label_or(value: object, default: T) -> str | T:
    """Make a label from a name, as `parse_label` does; the default if that is not possible."""
    try:
        return parse_label(value, "name")
    except InvalidInput:
        return default


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


def parse_moment(value: object, zone: tzinfo) -> datetime | None:
    """A time in UTC, from ISO 8601, a year, or seconds or milliseconds since 1970; None without a value.

    Raises:
        InvalidInput: The value is none of these.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{4}", value.strip()):
        value = f"{value.strip()}-01-01"
    if isinstance(value, str) and re.fullmatch(r"\d{13}", value.strip()):
        value = int(value) / 1000
    for parse in (parse_time, parse_timestamp):
        with suppress(InvalidInput):
            return to_utc(parse(value), zone)
    raise InvalidInput(
        "the time is neither in ISO 8601 form, such as 2026-01-17T10:23:00+01:00, nor seconds since 1970"
    )


def moment_or_none(value: object, zone: tzinfo) -> datetime | None:
    """Parse a time that people write as they like, as `parse_moment` does; None if that is not possible."""
    with suppress(InvalidInput):
        return parse_moment(value, zone)
    return None


def parse_subjects(values: list[object]) -> tuple[str, ...]:
    """Names as subjects; what is no name is left out."""
    names = (label_or(value, None) for value in values)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def parse_metadata(values: dict[str, object], left_out: list[str] | None = None) -> Metadata:
    """The pairs of a JSON object that metadata can have: short texts, numbers and booleans, lists joined, objects flattened.

    Args:
        values: The object.
        left_out: Gets the names of the other pairs that have a value.
    """
    kept: dict[str, MetadataValue] = {}
    for name, value in _flattened(values):
        if (listed := as_list(value)) and all(
            isinstance(each, str | int | float) for each in listed
        ):
            value = ", ".join(map(str, listed))
        if value is None or value in ("", [], {}):
            continue
        short = not isinstance(value, str) or len(value) <= MAX_LABEL_CHARACTERS
        finite = not isinstance(value, float) or math.isfinite(value)
        if (
            isinstance(value, str | int | float)
            and short
            and finite
            and len(kept) < MAX_METADATA_KEYS
        ):
            kept[storable_text(name)] = storable_text(value) if isinstance(value, str) else value
        elif left_out is not None:
            left_out.append(printable(name))
    return kept


def _flattened(
    values: dict[str, object], above: Sequence[str] = ()
) -> Iterator[tuple[str, object]]:
    """The pairs of an object and of those in it, whose names are joined with dots."""
    for name, value in values.items():
        path = (*above, name)
        if len(path) < _MAX_DEPTH and (inner := as_object(value)):
            yield from _flattened(inner, path)
        else:
            yield ".".join(path), value


def with_metadata(statement: Statement, pairs: dict[str, object]) -> Iterator[Record | Problem]:
    """A statement with pairs as its metadata, and a problem if metadata cannot have some of them."""
    left_out: list[str] = []
    yield replace(statement, metadata=parse_metadata(pairs, left_out))
    if left_out:
        yield Problem(
            0,
            f"the memory came in without a part of its metadata, which is too long or a list of objects: "
            f"{', '.join(left_out)[:MAX_LABEL_CHARACTERS]}",
        )


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
