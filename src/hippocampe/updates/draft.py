"""A statement that is checked and not stored yet, to compare with stored ones."""

from dataclasses import dataclass

from hippocampe.types import Memory

INHERITED_FIELDS = ("type", "importance", "subjects", "category", "collection")
"""Fields that an update copies from the superseded memory unless the caller gives them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked statement that is not stored yet.

    Attributes:
        memory: The statement. Arguments that the caller left out have their defaults.
        names: Subjects extracted from the content.
        replaces: Ids of memories that the caller asks to supersede.
        provided: The `INHERITED_FIELDS` that the caller gave.
        keeps_lifetime: Whether the caller gave a time to live, or None for ever.
        imported: Whether it was learnt by another program, at its `created_at`, and so may be older than stored ones.
    """

    memory: Memory
    names: tuple[str, ...]
    replaces: tuple[str, ...] = ()
    provided: frozenset[str] = frozenset(INHERITED_FIELDS)
    keeps_lifetime: bool = True
    imported: bool = False
