"""A format of exported conversations or memories, and ways to recognise one by the beginning of a file."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import tzinfo

from hippocampe.ingest.formats.record import Problem, Record
from hippocampe.ingest.formats.source import Source

_HEAD_LINES = 100


@dataclass(frozen=True, slots=True)
class Format:
    """A format of exported conversations or memories.

    Attributes:
        name: Its name for `import_from`.
        title: The program that writes it, for people.
        read: Reads a source, with the timezone of times without an offset. It streams, keeps the original times,
            gives each record a stable id, and yields a `Problem` for each part that it cannot read.
        recognises: Returns whether the beginning of a file has this format.
        files: Its files in a zip: a pattern of their names in lower case.
    """

    name: str
    title: str
    read: Callable[[Source, tzinfo], Iterator[Record | Problem]]
    recognises: Callable[[str], bool]
    files: str | None = None


def any_line(test: Callable[[str], bool]) -> Callable[[str], bool]:
    """Recognise a format by one of the first lines."""
    return lambda head: any(map(test, head.split("\n", _HEAD_LINES)[:_HEAD_LINES]))


def has_key(pattern: str) -> Callable[[str], bool]:
    """Recognise a JSON document by keys that are unique to it.

    Args:
        pattern: Of the key from its first quote on. An unescaped quote excludes text that people wrote.
    """
    key = re.compile(rf"(?<!\\)(?:{pattern})")
    return lambda head: key.search(head) is not None
