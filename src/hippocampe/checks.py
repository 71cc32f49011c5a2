"""What callers give, checked before anything is changed."""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from hippocampe import secret
from hippocampe.errors import InvalidInput
from hippocampe.prompt import without_injection
from hippocampe.text import without_control
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

MAX_LIMIT = 1_000


def clean(content: str, *, what: str = "content", limit: int = MAX_CONTENT_CHARACTERS) -> str:
    """Text that can be stored: no control characters, no spaces around.

    Raises:
        InvalidInput: It is no text, empty, longer than `limit`, or holds lone surrogates.
    """
    if not isinstance(content, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{what} must be text, not {type(content).__name__}.")
    try:
        content.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"{what} holds a lone surrogate at position {exc.start}: it is not valid text. "
            'Decode it with errors="replace" first.'
        ) from exc
    cleaned = without_control(content).strip()
    if not cleaned:
        raise InvalidInput(f"{what} is empty: give at least one visible character.")
    if len(cleaned) > limit:
        raise InvalidInput(
            f"{what} is {len(cleaned):,} characters long, more than {limit:,}. Cut it into several."
        )
    return cleaned


def safe(content: str, *, refuse: bool, what: str = "content") -> str:
    """Text without secrets: they are masked, or refused.

    Raises:
        InvalidInput: It holds a secret and `refuse` is set.
    """
    found = secret.find_secrets(content)
    if found and refuse:
        raise InvalidInput(
            f"{what} holds a secret ({found[0].kind}); it was not stored. Leave the secret out."
        )
    return secret.mask(content) if found else content


def is_injection(content: str) -> bool:
    """Whether a text is only what was injected from memory."""
    return (
        isinstance(content, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        and bool(content.strip())
        and not without_injection(content).strip()
    )


def own(content: str, *, what: str = "content") -> str:
    """A clean text without what was injected into it, which is known already.

    Raises:
        InvalidInput: It holds nothing else.
    """
    kept = without_injection(content).strip()
    if not kept:
        raise InvalidInput(
            f"{what} is only text that was injected from memory, which is never stored again: give "
            "what was said besides."
        )
    return kept


def check_collection(memory: Memory, *, complete: bool = True) -> None:
    """Check collection and category of a memory; unless `complete`, the category may be missing.

    Raises:
        InvalidInput: One of them is not among those that exist.
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
    """Where a call happens.

    Raises:
        InvalidInput: It is no `Scope`.
    """
    if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f'scope must be a Scope, such as Scope(user="dev"), not {type(scope).__name__}.'
        )
    return scope


def check_text(name: str, value: str | None) -> str | None:
    """A text, or None.

    Raises:
        InvalidInput: It is something else.
    """
    if value is not None and not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
    return value


def check_id(id: str, *, name: str = "id") -> str:
    """An id, which may be that of nothing.

    Raises:
        InvalidInput: It is no text.
    """
    if not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be text, not {type(id).__name__}: take it from a result.")
    return id


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """One of several names.

    Raises:
        InvalidInput: It is none of them.
    """
    names = tuple(choices)
    if not isinstance(value, str) or value not in names:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"unknown {name} {value!r}: choose from {', '.join(names)}.")
    return value


def check_flag(name: str, value: bool) -> bool:
    """A truth value, where another value could be taken for its opposite.

    Raises:
        InvalidInput: It is neither True nor False.
    """
    if not isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be True or False, not {value!r}.")
    return value


def check_number(name: str, value: float, least: float, most: float) -> float:
    """A number between two others.

    Raises:
        InvalidInput: It is not.
    """
    wrong = not isinstance(value, int | float) or isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if wrong or not least <= value <= most:
        raise InvalidInput(f"{name} must be a number from {least:g} to {most:g}, not {value!r}.")
    return value


def check_path(name: str, value: "str | os.PathLike[str]") -> Path:
    """The path of a file.

    Raises:
        InvalidInput: It is no path.
    """
    if not isinstance(value, str | os.PathLike) or not str(value):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be the path of a file, not {value!r}.")
    return Path(value)


def check_list(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Several texts, not one.

    Raises:
        InvalidInput: It is one text, or holds what is none.
    """
    several = isinstance(values, Sequence | Set) and not isinstance(values, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not several or not all(isinstance(value, str) for value in values):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f'{name} must be a list of texts, such as ["ski"], not {values!r}.')
    return tuple(values)


def check_limit(limit: int) -> int:
    """How many to give at most.

    Raises:
        InvalidInput: It is not a whole number from 1 to 1,000.
    """
    whole = isinstance(limit, int) and not isinstance(limit, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not whole or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT}, not {limit!r}.")
    return limit


def check_subjects(subjects: Sequence[str]) -> tuple[str, ...]:
    """Subjects as they are kept: in lower case, each once.

    Raises:
        InvalidInput: They are one text, or one of them cannot be stored.
    """
    cleaned = (
        clean(name, what="a subject", limit=MAX_LABEL_CHARACTERS).lower()
        for name in check_list("subjects", subjects)
    )
    return tuple(dict.fromkeys(cleaned))


def check_importance(type: str, importance: float | None) -> float:
    """The importance of a memory of some type; None: that of the type.

    Raises:
        InvalidInput: The type is unknown, or the importance is not 0 to 1.
    """
    check_choice("type", type, DEFAULT_IMPORTANCE)
    if importance is None:
        return DEFAULT_IMPORTANCE[type]
    return float(check_number("importance", importance, 0, 1))


def check_metadata(given: Metadata) -> dict[str, MetadataValue]:
    """Metadata as it is compared: text without control characters.

    Raises:
        InvalidInput: It is no mapping of names to texts, numbers, booleans or None, or is too large.
    """
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f'metadata must be a mapping, such as {{"source": "crm"}}, not {type(given).__name__}.'
        )
    checked = {
        clean(name, what="a metadata key", limit=MAX_LABEL_CHARACTERS): _metadata_value(name, value)
        for name, value in given.items()
    }
    if len(checked) > MAX_METADATA_KEYS:
        raise InvalidInput(
            f"metadata has {len(checked)} keys, more than {MAX_METADATA_KEYS}: leave some out."
        )
    try:
        size = len(json.dumps(checked, ensure_ascii=False).encode())
    except UnicodeEncodeError as exc:
        raise InvalidInput("metadata holds a lone surrogate: it is not valid text.") from exc
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
    # SQLite reads larger whole numbers as inexact.
    if value is None or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return value
    raise InvalidInput(
        f"metadata {name!r} cannot be {value!r:.40}: give a text, a finite number, a whole number of "
        "at most 64 bits, True, False or None."
    )


def safe_metadata(given: Metadata, *, refuse: bool) -> dict[str, MetadataValue]:
    """Metadata as it is stored: checked, and without secrets.

    Raises:
        InvalidInput: It cannot be used, or holds a secret and `refuse` is set.
    """
    safe_pairs: dict[str, MetadataValue] = {}
    for name, value in check_metadata(given).items():
        name = safe(name, refuse=refuse, what="metadata")
        if isinstance(value, str):
            # The name tells that a value is one: {"password": "hunter2"}.
            said = safe(f"{name}: {value}", refuse=refuse, what="metadata")
            value = said.removeprefix(f"{name}: ")
        safe_pairs[name] = value
    return safe_pairs
