"""Select the notes among the files of a vault; limits of a note."""

import unicodedata
from collections.abc import Collection, Sequence

from hippocampe.language.text import fold

EXPORT_ROWS = "hippocampe.jsonl"
"""The file of an export of Hippocampe that has no page of its own."""
EXPORT_INDEX = "index.md"
MAX_NOTE_BYTES = 1_000_000
"""Longer notes are skipped: they are data dumps, and would give thousands of pieces."""


def is_wanted(path: str, ignored: Sequence[str]) -> bool:
    """Return whether a path is that of a note to read. Names that start with a dot are always ignored.

    Args:
        path: Relative to the vault, with slashes.
        ignored: Folders by name or by path, in any case, with or without accents.
    """
    parts = path.split("/")
    if not parts[-1].lower().endswith(".md") or not path.isprintable():
        return False
    return not any(is_ignored("/".join(parts[:end]), ignored) for end in range(1, len(parts) + 1))


def is_ignored(path: str, ignored: Sequence[str]) -> bool:
    """Return whether to ignore a folder or file, by its path relative to the vault."""
    name = path.rpartition("/")[2]
    folded = {fold(each).strip("/") for each in ignored}
    return name.startswith(".") or fold(name) in folded or fold(path) in folded


def is_export(names: Collection[str]) -> bool:
    """Return whether a folder with these files is an export of Hippocampe.

    Its pages repeat memories, also the replaced and forgotten ones: they are no notes.
    """
    return EXPORT_ROWS in names and EXPORT_INDEX in names


def normalize(text: str) -> str:
    """Normalise to NFC: macOS decomposes file names."""
    return unicodedata.normalize("NFC", text)
