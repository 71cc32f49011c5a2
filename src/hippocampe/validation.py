"""Validate and clean the arguments of callers, before any change."""

import json
import math
import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from pathlib import Path

from hippocampe.errors import InvalidInput, shown
from hippocampe.language import secrets
from hippocampe.language.invisible import can_be_seen
from hippocampe.language.markers import without_injection
from hippocampe.language.text import without_control
from hippocampe.types import (
    CATEGORIES,
    DEFAULT_IMPORTANCE,
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_METADATA_BYTES,
    MAX_METADATA_KEYS,
    Memory,
    Metadata,
    MetadataValue,
    Scope,
)

_UNDECODED = range(0xDC80, 0xDD00)
"""Surrogates by which Python represents bytes that are not UTF-8, of an argument or a file."""
MAX_LIMIT = 1_000
"""Most results of one call: larger lists are read page by page."""
MAX_DAYS = 366
"""Most days of one statistic."""
MAX_SUBJECTS = 100
"""Most subjects of one memory or of one filter: each is a row that every search by subject reads."""
MAX_REPLACES = 100
"""Most memories that one statement supersedes: each is read and rewritten in its transaction."""
MAX_EVIDENCE = 10_000
"""Most messages that support one memory, and most messages read by id: more than years of repetitions, and
below the limit of variables in one statement of SQLite (32,766)."""
MAX_CHOICES = 32
"""Most names chosen from a fixed list (collections, types, states); the list is shorter."""
MAX_ABSENT = 100
"""Most texts that one `verify` searches in every file."""
MAX_MANY = 10_000
"""Most items of one `remember_many`, which checks all of them in memory before storing the first."""
MAX_BURST = 100
"""Most messages of one burst: the latest are read."""
MAX_QUESTION_CHARACTERS = 400_000
"""Longest question. Only its beginning is searched: long questions are pasted texts."""
MAX_REASON_CHARACTERS = 1_000
"""Longest reason, topic to forget, or text that `verify` searches: a sentence or two."""
MAX_TOKEN_CHARACTERS = 1_000
"""Longest cursor, address or secret, which programs generate."""
MAX_PATH_CHARACTERS = 4_096
"""Longest path (`PATH_MAX` of Linux)."""


def clean_text(content: str, *, what: str = "content", limit: int = MAX_CONTENT_CHARACTERS) -> str:
    """Remove control characters and surrounding spaces from a text.

    Args:
        content: The text.
        what: Name of the argument, for error messages.
        limit: Maximum length of the result, in characters.

    Raises:
        InvalidInput: The value is not text, is empty or too long, or contains lone surrogates.
    """
    if not isinstance(content, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{what} must be text, not {type(content).__name__}.")
    _check_encodable(what, content)
    cleaned = without_control(content).strip()
    if not can_be_seen(cleaned):
        raise InvalidInput(f"{what} is empty: give at least one visible character.")
    if len(cleaned) > limit:
        if limit == MAX_LABEL_CHARACTERS:
            raise _too_long(what, len(cleaned), limit)
        raise InvalidInput(
            f"{what} is {len(cleaned):,} characters long, more than {limit:,}. Split it into several."
        )
    return cleaned


def _check_encodable(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        code = ord(text[exc.start])
        if code in _UNDECODED:
            raise InvalidInput(
                f"{what} is not UTF-8: byte 0x{code & 0xFF:02X} at position {exc.start} is of another encoding. "
                "Convert it to UTF-8 first."
            ) from exc
        raise InvalidInput(
            f"{what} contains a lone surrogate at position {exc.start}: it is not valid text. "
            'Decode it with errors="replace" first.'
        ) from exc


def clean_key(key: str) -> str:
    """Clean the key of a fact like a text; composed and decomposed letters ("é") are one.

    Raises:
        InvalidInput: It is not text, is empty or too long, or contains lone surrogates.
    """
    cleaned = clean_text(key, what="key", limit=MAX_LABEL_CHARACTERS)
    return unicodedata.normalize("NFC", cleaned)


def check_new_key(key: str) -> str:
    """Clean the key of a fact to write. It may hold no secret: masked keys would be one key, and replace each other.

    Raises:
        InvalidInput: It is not text, is empty or too long, contains a secret, or is a dot segment of a path.
    """
    cleaned = redact(clean_key(key), refuse=True, what="key")
    if cleaned in (".", ".."):
        raise InvalidInput(f"key cannot be {cleaned!r}, which no address can end with: name it.")
    return cleaned


def redact(content: str, *, refuse: bool, what: str = "content") -> str:
    """Mask the secrets in a text.

    Args:
        content: The text.
        refuse: Raise instead of masking.
        what: Name of the argument, for error messages.

    Raises:
        InvalidInput: The text contains a secret and `refuse` is set.
    """
    found = secrets.find_secrets(content)
    if found and refuse:
        raise _secret(what, found[0].kind)
    return secrets.mask(content) if found else content


def check_identifiers(**identifiers: str | None) -> None:
    """Check that identifiers contain no key or token. They are stored as given: masked ones would be one identifier.

    Raises:
        InvalidInput: One does.
    """
    for name, value in identifiers.items():
        if value is not None and (kind := secrets.key_in(value)):
            raise _secret(name, kind)


def _secret(what: str, kind: secrets.SecretKind) -> InvalidInput:
    return InvalidInput(f"{what} contains a secret ({kind}); it was not stored. Remove the secret.")


def redact_named(name: str, value: str, *, refuse: bool, what: str = "content") -> str:
    """Mask the secrets in a value, which its name may tell: {"door_code": "4521"}. See `redact`."""
    named = f"{name.replace('_', ' ')}: " if name else ""
    return redact(named + value, refuse=refuse, what=what).removeprefix(named)


def clean_reason(reason: str) -> str:
    """Clean the reason of a change, and mask the secrets in it.

    Raises:
        InvalidInput: It is empty, too long or not text.
    """
    return secrets.mask(clean_text(reason, what="reason", limit=MAX_REASON_CHARACTERS))


def is_injection(content: str) -> bool:
    """Return whether a text consists only of injected memories."""
    return (
        isinstance(content, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        and bool(content.strip())
        and not without_injection(content).strip()
    )


def strip_injection(content: str, *, what: str = "content") -> str:
    """Remove injected memories from a text; they are stored already.

    Args:
        content: The text.
        what: Name of the argument, for error messages.

    Raises:
        InvalidInput: Nothing remains.
    """
    remaining = without_injection(content).strip()
    if not remaining:
        raise InvalidInput(
            f"{what} contains only text injected from memory, which is never stored again: pass the "
            "original text without the injection."
        )
    return remaining


def check_collection(memory: Memory, *, complete: bool = True) -> None:
    """Check the collection and the category of a memory.

    Args:
        memory: The memory.
        complete: Whether a missing category is an error where the collection needs one.

    Raises:
        InvalidInput: The collection or the category is unknown, or the category is missing.
    """
    check_choice("collection", memory.collection, CATEGORIES)
    allowed = CATEGORIES[memory.collection]
    category = check_text("category", memory.category)
    if category is not None and category not in allowed:
        choice = f"choose from {', '.join(sorted(allowed))}" if allowed else "leave it out"
        raise InvalidInput(
            f"collection {memory.collection!r} has no category {category!r}: {choice}."
        )
    if complete and allowed and category is None:
        raise InvalidInput(
            f"collection {memory.collection!r} needs a category: one of {', '.join(sorted(allowed))}."
        )


def check_scope(scope: Scope) -> Scope:
    """Check that a value is a `Scope`.

    Raises:
        InvalidInput: It is not.
    """
    if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f'scope must be a Scope, such as Scope(user="dev"), not {type(scope).__name__}.'
        )
    return scope


def check_text(name: str, value: str | None) -> str | None:
    """Check that a value is text of at most `MAX_LABEL_CHARACTERS`, or None.

    Raises:
        InvalidInput: It is neither, or longer, or contains lone surrogates.
    """
    if value is not None and not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
    if value is not None and len(value) > MAX_LABEL_CHARACTERS:
        raise _too_long(name, len(value), MAX_LABEL_CHARACTERS)
    if value is not None:
        _check_encodable(name, value)
    return value


def check_clock(clock: Callable[[], datetime] | None) -> None:
    """Refuse a clock of naive times, which nothing can be compared with.

    Raises:
        InvalidInput: It returns a time without a timezone.
    """
    if clock is not None and clock().utcoffset() is None:
        raise InvalidInput(
            "clock returns a time without a timezone: return an aware one, such as datetime.now(UTC)."
        )


def check_id(id: str, *, name: str = "id", limit: int = MAX_LABEL_CHARACTERS) -> str:
    """Check that an id is text of at most `limit` characters. Does not check that it exists.

    Raises:
        InvalidInput: It is not text, or longer.
    """
    if not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be text, not {type(id).__name__}: take it from a result.")
    if len(id) > limit:
        raise _too_long(name, len(id), limit)
    return id


def _too_long(name: str, length: int, limit: int) -> InvalidInput:
    return InvalidInput(f"{name} is {length:,} characters long, more than {limit:,}: shorten it.")


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Check that a value is one of several names.

    Raises:
        InvalidInput: It is not.
    """
    names = tuple(choices)
    if not isinstance(value, str) or value not in names:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"unknown {name} {shown(value)}: choose from {', '.join(names)}.")
    return value


def check_flag(name: str, value: bool) -> bool:
    """Check that a flag is a boolean, because truthiness can invert it ("false" is true).

    Raises:
        InvalidInput: It is neither True nor False.
    """
    if not isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be True or False, not {shown(value)}.")
    return value


def only_channel(scope: Scope, channel_only: bool) -> str | None:
    """The one channel to read; None for all.

    Raises:
        InvalidInput: The scope names no channel, or the flag is no boolean.
    """
    if not check_flag("channel_only", channel_only):
        return None
    if scope.channel is None:
        raise InvalidInput("channel_only needs a scope that names a channel.")
    return scope.channel


def check_share(name: str, value: float) -> float:
    """Check that a number is from 0 to 1.

    Raises:
        InvalidInput: It is not.
    """
    wrong = not isinstance(value, int | float) or isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if wrong or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {shown(value)}.")
    return value


def check_path(name: str, value: "str | os.PathLike[str]") -> Path:
    """Check that a value is a path, and convert it.

    Raises:
        InvalidInput: It is not a path, or none that a file can have.
    """
    if not isinstance(value, str | os.PathLike) or not _may_exist(str(value)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be the path of a file, not {shown(value)}.")
    if len(str(value)) > MAX_PATH_CHARACTERS:
        raise _too_long(name, len(str(value)), MAX_PATH_CHARACTERS)
    return Path(value)


def _may_exist(path: str) -> bool:
    """Return whether a file can have a path; undecodable bytes of a name are surrogates that can be encoded again."""
    try:
        return b"\0" not in os.fsencode(path) and bool(path.strip())
    except UnicodeEncodeError:
        return False


def check_list(
    name: str, values: Sequence[str], *, most: int, limit: int = MAX_LABEL_CHARACTERS
) -> tuple[str, ...]:
    """Check that a value is a list of texts, not a single text.

    Args:
        name: Name of the argument, for error messages.
        values: The list.
        most: Maximum number of texts.
        limit: Maximum characters of each.

    Raises:
        InvalidInput: It is not, or is too large, or contains lone surrogates.
    """
    several = isinstance(values, Sequence | Set) and not isinstance(values, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if several and len(values) > most:
        raise InvalidInput(
            f"{name} has {len(values):,} items, more than {most:,}: give fewer, or call several times."
        )
    if not several or not all(isinstance(value, str) for value in values):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f'{name} must be a list of texts, such as ["ski"], not {shown(values)}.')
    longest = max(map(len, values), default=0)
    if longest > limit:
        raise _too_long(f"a text of {name}", longest, limit)
    for value in values:
        _check_encodable(f"a text of {name}", value)
    return tuple(values)


def check_limit(limit: int, *, most: int = MAX_LIMIT) -> int:
    """Check the maximum number of results.

    Raises:
        InvalidInput: It is not a whole number from 1 to `most`.
    """
    return check_whole("limit", limit, most=most)


def check_whole(name: str, value: int, *, most: int, least: int = 1) -> int:
    """Check that a number is whole, and between two bounds, inclusive.

    Raises:
        InvalidInput: It is not.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not whole or not least <= value <= most:
        raise InvalidInput(
            f"{name} must be a whole number from {least} to {most}, not {shown(value)}."
        )
    return value


def check_subject_names(subjects: Sequence[str]) -> tuple[str, ...]:
    """Check subjects to filter by. Each may be as long as a word of a statement, since statements have such subjects.

    Raises:
        InvalidInput: The value is not a list of texts, or is too large.
    """
    return check_list("subjects", subjects, most=MAX_SUBJECTS, limit=MAX_CONTENT_CHARACTERS)


def check_importance(type: str, importance: float | None) -> float:
    """Return the importance of a memory; None selects the default of its type.

    Raises:
        InvalidInput: The type is unknown, or the importance is not between 0 and 1.
    """
    check_choice("type", type, DEFAULT_IMPORTANCE)
    if importance is None:
        return DEFAULT_IMPORTANCE[type]
    return float(check_share("importance", importance))


def merge_metadata(own: Metadata, inherited: Metadata) -> dict[str, MetadataValue]:
    """Add the inherited pairs to metadata, the last ones first, as far as they fit. Both are checked already."""
    merged = dict(own)
    for name, value in reversed(list(inherited.items())):
        more = {**merged, name: value}
        fits = len(more) <= MAX_METADATA_KEYS and _json_bytes(more) <= MAX_METADATA_BYTES
        if name not in own and fits:
            merged = more
    return merged


def _json_bytes(metadata: Metadata) -> int:
    return len(json.dumps(metadata, ensure_ascii=False).encode())


def check_metadata(metadata: Metadata) -> dict[str, MetadataValue]:
    """Check metadata, and remove control characters from its texts.

    Raises:
        InvalidInput: It is not a mapping of names to texts, numbers, booleans or None, or is too
            large.
    """
    if not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f'metadata must be a mapping, such as {{"source": "crm"}}, not {type(metadata).__name__}.'
        )
    if len(metadata) > MAX_METADATA_KEYS:
        raise InvalidInput(
            f"metadata has {len(metadata):,} keys, more than {MAX_METADATA_KEYS}: remove some."
        )
    checked = {
        clean_text(name, what="a metadata key", limit=MAX_LABEL_CHARACTERS): _metadata_value(
            name, value
        )
        for name, value in metadata.items()
    }
    try:
        size = _json_bytes(checked)
    except UnicodeEncodeError as exc:
        raise InvalidInput("metadata contains a lone surrogate: it is not valid text.") from exc
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(
            f"metadata takes {size:,} bytes as JSON, more than {MAX_METADATA_BYTES:,}: shorten it."
        )
    return checked


def _metadata_value(name: str, value: MetadataValue) -> MetadataValue:
    if isinstance(value, str):
        return without_control(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    # SQLite converts larger integers to floats.
    if value is None or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return value
    raise InvalidInput(
        f"metadata {shown(name)} cannot be {shown(value)}: give a text, a finite number, a whole number of "
        "at most 64 bits, True, False or None."
    )


def redact_metadata(
    metadata: Metadata, *, refuse: bool, beside: str = ""
) -> dict[str, MetadataValue]:
    """Check metadata, and mask its secrets.

    Args:
        metadata: The metadata.
        refuse: Raise instead of masking.
        beside: The content of its memory: its secrets are masked where the metadata repeats them.

    Raises:
        InvalidInput: It is invalid, or contains a secret and `refuse` is set.
    """
    redacted: dict[str, MetadataValue] = {}
    known = secrets.values_in([beside]) if metadata else {}
    for name, value in check_metadata(metadata).items():
        name = redact(name, refuse=refuse, what="metadata")
        # A PIN may be a number.
        if isinstance(value, str | int) and not isinstance(value, bool):
            written = redact_named(name, str(value), refuse=refuse, what="metadata")
            written = secrets.mask_values(written, known)
            value = value if written == str(value) else written
        redacted[name] = value
    return redacted


def redact_subjects(subjects: Sequence[str], *, refuse: bool, beside: str = "") -> tuple[str, ...]:
    """Lowercase and deduplicate subjects, and mask their secrets.

    Args:
        subjects: The subjects.
        refuse: Raise instead of masking.
        beside: The content of their memory: its secrets are masked where a subject repeats them.

    Raises:
        InvalidInput: The value is not a list of texts, is too large, or a text cannot be stored or is refused.
    """
    known = secrets.values_in([beside]) if subjects else {}
    # Spaces and control characters around a subject do not count.
    cleaned = (
        clean_text(name, what="a subject", limit=MAX_LABEL_CHARACTERS)
        for name in check_subject_names(subjects)
    )
    masked = (
        secrets.mask_values(redact(name, refuse=refuse, what="a subject"), known).lower()
        for name in cleaned
    )
    return tuple(dict.fromkeys(masked))
