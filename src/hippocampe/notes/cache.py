"""The notes of a source in memory, with lookups by name and by tag. Immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from hippocampe.language.text import fold
from hippocampe.store.driver import grouped
from hippocampe.types import Note, Recollection


@dataclass(frozen=True, slots=True)
class CachedNote:
    """A note as read at one version.

    Attributes:
        version: The version that the source listed when the note was read.
        note: The note; None if it cannot be read.
        excerpt: Its title and its beginning; None with `note`.
    """

    version: str
    note: Note | None
    excerpt: Recollection | None


@dataclass(frozen=True, slots=True)
class NoteCache:
    """All notes of a source.

    Attributes:
        entries: The notes by path.
        by_name: Paths by folded title, path, and path without suffix or folders.
        by_tag: Paths by folded tag and by each tag above it.
    """

    entries: Mapping[str, CachedNote] = field(default_factory=dict[str, CachedNote])
    by_name: Mapping[str, Sequence[str]] = field(default_factory=dict[str, list[str]])
    by_tag: Mapping[str, Sequence[str]] = field(default_factory=dict[str, list[str]])

    @classmethod
    def of(cls, entries: Mapping[str, CachedNote]) -> Self:
        """Index notes by name and by tag."""
        notes = [(path, entry.note) for path, entry in sorted(entries.items()) if entry.note]
        names = ((name, path) for path, note in notes for name in _names(path, note))
        tags = ((tag, path) for path, note in notes for tag in _tags(note))
        return cls(dict(entries), grouped(names), grouped(tags))

    def notes(self) -> dict[str, Note]:
        """The readable notes by path."""
        return {path: entry.note for path, entry in self.entries.items() if entry.note}

    def digests(self) -> dict[str, str]:
        """The digests of the readable notes by path."""
        return {path: note.digest for path, note in self.notes().items()}

    def excerpts(self) -> list[Recollection]:
        """The excerpts of all readable notes."""
        return [entry.excerpt for entry in self.entries.values() if entry.excerpt is not None]

    def find(self, names: Sequence[str], tag: str) -> list[Recollection]:
        """Excerpts of the notes with one of the names, then of those with a tag or a tag below it."""
        paths = [path for name in names for path in self.by_name.get(_key(name), ())]
        paths += self.by_tag.get(_key(tag.strip().lstrip("#").strip("/")), ())
        excerpts = (self.entries[path].excerpt for path in dict.fromkeys(paths))
        return [excerpt for excerpt in excerpts if excerpt is not None]


def _names(path: str, note: Note) -> set[str]:
    stem = path.rpartition(".")[0]
    return set(map(_key, (path, stem, stem.rpartition("/")[2], note.title)))


def _tags(note: Note) -> set[str]:
    """The tags of a note and the tags above them."""
    paths = (_key(tag).split("/") for tag in note.tags)
    return {"/".join(path[:end]) for path in paths for end in range(1, len(path) + 1)}


def _key(text: str) -> str:
    return fold(text).strip()
