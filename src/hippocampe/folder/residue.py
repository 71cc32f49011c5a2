"""Find the files of a data folder that contain a text, in a child process.

Closing a database file drops all SQLite locks of the process on it (see `Store.read_ahead`), so the
serving process must never open it directly.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from hippocampe.errors import StoreError
from hippocampe.language.text import fold
from hippocampe.system import worker

_EMPTY: Final = bytes(1 << 20)
"""An empty block, of the size that is read at once."""


def found_in_files(folder: Path, texts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Search texts in the files below a folder; return each text found, with the relative paths of these files.

    Each text is searched in all its `spellings`.

    Raises:
        StoreError: The files could not be read.
    """
    if not texts:
        return {}
    try:
        found = worker.run(("-m", "hippocampe.folder.residue"), [str(folder), *texts])
    except worker.ChildFailed as exc:
        raise StoreError(f"the files in {folder} could not be searched: {exc}.") from exc
    return {text: tuple(paths) for text, paths in json.loads(found).items() if paths}


def spellings(text: str) -> set[str]:
    """A text as given, in lower case, in upper case, capitalised and folded."""
    return {text, text.lower(), text.upper(), text.title(), fold(text)} - {""}


def _needles(text: str) -> set[bytes]:
    # Earlier versions stored JSON with escaped non-ASCII characters.
    forms = spellings(text)
    return {form.encode() for form in forms | {json.dumps(form)[1:-1] for form in forms}}


def _search(folder: Path, texts: Sequence[str]) -> dict[str, list[str]]:
    needles = {text: _needles(text) for text in texts}
    found: dict[str, list[str]] = {text: [] for text in texts}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            for text in _held(path, needles):
                found[text].append(str(path.relative_to(folder)))
    return found


def _held(path: Path, needles: Mapping[str, set[bytes]]) -> set[str]:
    """The texts that a file contains."""
    overlap = max(len(needle) for of_text in needles.values() for needle in of_text) - 1
    found: set[str] = set()
    tail = b""
    with path.open("rb") as file:
        while len(found) < len(needles) and (block := file.read(len(_EMPTY))):
            if block == _EMPTY:
                # The index preallocates its files: most of a small folder is empty.
                tail = b""
                continue
            window = tail + block
            found |= {
                text
                for text, of_text in needles.items()
                if text not in found and any(needle in window for needle in of_text)
            }
            tail = window[-overlap:] if overlap else b""
    return found


if __name__ == "__main__":
    folder, *texts = json.load(sys.stdin)
    print(json.dumps(_search(Path(folder), texts)))
