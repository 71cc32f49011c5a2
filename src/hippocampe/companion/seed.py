"""Plant the first statements of `self` and `goal` from a file, once per space."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, cast

from hippocampe.companion.self_knowledge import own_statements
from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.hippocampe import Hippocampe
from hippocampe.types import CATEGORIES, Memory, Scope
from hippocampe.validation import MAX_SUBJECTS, check_importance, check_list, clean_text

SOURCE = "seed"
"""The `source` of planted statements."""
COLLECTIONS = ("self", "goal")
KEYS = ("category", "content", "subjects", "importance")


@dataclass(frozen=True, slots=True)
class Seeded:
    """The result of loading a seed file.

    Attributes:
        planted: The statements that were stored; none if the space was seeded before.
        before: The time of an earlier seeding.
    """

    planted: tuple[Memory, ...] = ()
    before: datetime | None = None


def load(hippo: Hippocampe, path: str | PathLike[str], *, space: str = "default") -> Seeded:
    """Plant the statements of a seed file, unless the space was seeded before.

    A space counts as seeded even if the statements were changed, deleted or have expired since.
    Nothing is stored if an entry cannot be used.

    Args:
        hippo: The open memory.
        path: A TOML file with tables `[[self]]` and `[[goal]]`, each with `category`, `content` and,
            optionally, `subjects` and `importance`.
        space: The space.

    Raises:
        UnreadableFile: The file cannot be read, or is not TOML.
        InvalidInput: An entry cannot be used; the message has its number.
    """
    items = list(_items(_parsed(Path(path))))
    if not items:
        raise InvalidInput("the seed file has no statement: write tables [[self]] or [[goal]].")
    scope = Scope(space=space)
    before = [
        memory.created_at
        for memory in own_statements(hippo, space=space, state="all")
        if memory.source == SOURCE
    ]
    if before:
        return Seeded(before=min(before))
    done = hippo.remember_many(items, scope=scope)
    return Seeded(tuple(each.memory for each in done))


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        raise UnreadableFile(f"cannot read {path}: {exc.strerror or exc}.") from exc
    except UnicodeDecodeError as exc:
        raise UnreadableFile(f"{path} is not TOML: {exc}. Save it in UTF-8.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise UnreadableFile(f"{path} is not TOML: {exc}. Correct it.") from exc


def _items(tables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for collection, entries in tables.items():
        if collection not in COLLECTIONS or not isinstance(entries, list):
            raise InvalidInput(
                f"the seed file has {collection[:40]!r}: use only tables [[self]] and [[goal]]. "
                "Nothing was stored."
            )
        for number, entry in enumerate(cast("list[object]", entries), 1):
            try:
                yield _item(collection, entry)
            except InvalidInput as exc:
                raise InvalidInput(
                    f"[[{collection}]] number {number}: {exc} Nothing was stored."
                ) from exc


def _item(collection: str, entry: object) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InvalidInput(f"it is not a table: write [[{collection}]] above its keys.")
    fields = cast("dict[str, Any]", entry)
    for name in fields:
        if name not in KEYS:
            raise InvalidInput(f"the key {name[:40]!r} is unknown: use {', '.join(KEYS)}.")
    categories = sorted(CATEGORIES[collection])
    # A list: TOML has values that cannot be hashed.
    if fields.get("category") not in categories:
        raise InvalidInput(f"category must be one of {', '.join(categories)}.")
    clean_text(fields.get("content", ""))
    check_list("subjects", fields.get("subjects", ()), most=MAX_SUBJECTS)
    check_importance("fact", fields.get("importance"))
    kind = {"type": "goal"} if collection == "goal" else {}
    return {**fields, **kind, "collection": collection, "source": SOURCE}
